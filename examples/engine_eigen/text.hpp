// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief The text that the transformer learns from: a little essay on remembering and working out again.
#pragma once

#include <string_view>

namespace engine_eigen {

inline constexpr std::string_view training_text =
    R"(On keeping and on making again

There are two ways to have a thing when it is wanted. One is to keep it. The other is to know how it was made, and to
make it again. Whoever keeps everything needs a large house. Whoever keeps nothing needs a long day. Most of us live
in a house of some size and have a day of some length, and so we keep a few things and make the others again, and we
seldom think about which is which.

A cook thinks about it. There is one table, and it is never large enough. The stock that took the whole morning stays
in its pot on the back of the stove, for nobody wants to boil bones twice. The chopped parsley does not stay. It takes
up a board, and a board is a fifth of the table, and parsley is chopped again in a minute. A young cook keeps the
parsley because it is there. An old cook looks at the table and at the clock, and sweeps it away. The difference
between the two is not that one of them works faster. It is that one of them has asked of each thing on the table how
much room it takes, how long it took to make, and when it will be wanted next.

These are three questions, and no one of them is enough. A thing may be dear and small, like the stock cube, and then
it is kept. It may be cheap and large, like the parsley on its board, and then it goes. But a thing may be both dear
and large, and then all depends on when it will be wanted: if that is soon, the rest of the table must make room for
it, and if that is late, it may be better to lose it now and to pay for it later. And a thing that is cheap to make
may be made of things that are not. To chop parsley again one needs parsley. If the bunch has been thrown away as
well, then the walk to the market belongs to the price, and so does everything that stood on the way.

This is why it is hard to decide about one thing at a time. Each answer changes the others. If the bunch is kept, the
board may go. If the board is kept, the bunch may go. If both are kept the table is full, and if both are thrown away
the walk is long. A plan for a table is not a list of things with a mark against each. It is an order in which things
are done, and done again, and cleared away, from the first pot to the last plate, and it is right only if at no moment
of the evening more stands on the table than the table can bear.

A machine that learns stands at such a table. It reads its example from the first layer to the last, and each layer
leaves something behind. Then it walks back from the last layer to the first, and asks of each what share it had in
the mistake, and to answer that each layer must look at what it left behind. So the first thing that was made is the
last that is wanted. Everything waits for everything. At the turning point, when the last layer has spoken and the way
back begins, the table is as full as it will ever be, and it is this one moment that decides how large a table must be
bought.

The plain way is to keep all of it. It is quick, and it is what a machine does when it is not told otherwise. As long
as the table is large enough nothing is wrong with it. But the table is the dearest thing in the house, and what one
wants to learn has always been a little larger than the table. The other plain way is to keep nothing and to begin
again from the example for each step back. That needs hardly any room, and it takes so long that nobody has ever
waited for it. Between the two lies all that is worth knowing. Keep every tenth thing, and make the nine between two of
them again when they are wanted. Then the table is smaller by far, and the work has not even doubled. This was known to
people who had no machines at all, and who proved it for sums on paper.

But layers are not beads on a string. Some take long and leave little. Some take no time and leave a great deal. A
square of a number is made again sooner than it is fetched, while the product of two great tables of numbers is worth
its room. Some of what is left behind can be read off from what came after. Some was made by chance, with a throw of
dice, and who makes it again must throw the same numbers, or the answer will belong to another question. Some leaves a
mark on the world when it is made, as a turnstile counts who passes, and then it may be made again only if the second
time nobody counts. And some is changed where it stands, so that the old is gone when the new is there, and who wants
the old again must go back to before the change and do it all over, the change as well.

None of this is a reason not to make things again. It is a reason to write down of each thing what it is. The cook
knows without writing that an egg cannot be boiled back into an egg. A machine has to be told. Once it has been told,
it can be left alone with the table and the clock, and it will find plans that no cook would have found, because it
does not get tired, and because it does not love the parsley.

How does one know that such a plan is a good one? There is a way to look at it from below. Take any one moment of the
evening, the moment when the table is fullest. What will still be wanted after that moment must either stand on the
table then or be made again afterwards. Choose for that one moment alone the cheapest things to make again, and forget
about all others. No plan can be cheaper than that, since every plan must pass through that moment. If the plan costs
just as much, then it is the best there is, and one may stop looking. If it costs a little more, one knows how much
there is still to be found, at most. It is a good feeling to know how far off one is. Most work is done without it.

And how does one know that the answer is the same? This should be the easiest, and it is where most trust is lost. A
sum that is made again from the same numbers in the same order gives the same sum, to the last digit, and not almost
the same. If it gives almost the same, then something was not as it was: a die was thrown anew, a counter had moved, a
place was read before it was written, a thing was cleared away too early and the room held something else. Almost the
same is the name of a fault that has not been found. So the honest test is not whether the machine still learns, for
it learns in spite of many faults. The honest test is to run the evening twice, once with the large table and once
with the small one, and then to lay the two dinners side by side and to compare them crumb by crumb. If one crumb is
different, the plan was wrong, or the one who carried it out. If none is different, the small table is as good as the
large one, and the only price was time, and the price was known before.

What we keep is what we could not bear to make again. It is worth asking, now and then, whether that is still true of
what stands on our table.
)";

} // namespace engine_eigen
