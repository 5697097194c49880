#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# strata plan and strata check: budgets, files, JSON, exit codes.
source "$(dirname "${BASH_SOURCE[0]}")/support.bash"

# The JSON object has the keys that are promised, in one line, and nothing else is printed.
expect 0 plan chain.json --budget 75% --json
silent err
same "$(wc -l <out)" 1 "lines"
same "$(grep -oE '"[a-z_]+":' out | tr -d '":\n' | sed 's/$//')" \
  "graphopsbudget_bytespeak_bytesarena_byteskeep_all_peak_bytesbase_costcostoverheadlower_boundgapgap_out_of_sightsecondssolvervalid" keys
says '"graph":"chain","ops":8,'
says '"valid":true}'
same "$(number keep_all_peak_bytes)" 5100 "keep-all peak"
same "$(number budget_bytes)" 3850 "75 % of 5000, and 100 resident"
same "$(number base_cost)" 120 "base cost"
holds "$(number peak_bytes) <= 3850 && $(number cost) > 120"
holds "$(number arena_bytes) + 100 <= 3850"
holds "$(number lower_bound) <= $(number overhead) && $(number lower_bound) >= 0"

# Budgets: none is too large, and each way to write one means the same.
expect 0 plan chain.json --budget 99999999999999999999GiB --json
same "$(number overhead)" 0 "overhead without a limit"
expect 0 plan chain.json --budget 100% --json
same "$(number cost)" 120 "cost at the keep-all peak"
expect 0 plan chain.json --budget 5.1kB --json
same "$(number budget_bytes)" 5100 "budget"
for budget in 0 0% 1B 1%; do
  expect 3 plan chain.json --budget "$budget" --json
  silent out
  complains "chain.json: no plan fits"
  complains "try --budget "
done
# What is said to work works.
remedy="$(sed -nE 's/.*try --budget ([0-9]+).*/\1/p' err)"
expect 0 plan chain.json --budget "$remedy" --json
expect 4 plan chain.json --budget 75% --deadline 0s
complains "stopped before any plan"

# Same input, same plan, whatever the threads.
expect 0 plan chain.json -b 75% --threads 1 --out one.plan --quiet
silent out
expect 0 plan chain.json -b 75% --threads 4 --out four.plan --quiet
same "$(sed 's/"seconds":[^}]*//' one.plan | cksum)" "$(sed 's/"seconds":[^}]*//' four.plan | cksum)" "plan"
for solver in cut greedy sqrt_checkpoint; do
  expect 0 plan chain.json -b 80% --solver "$solver" --json
  says '"valid":true'
done

# A plan of a graph with views and in-place ops names the ops and tensors of the file, every one of them, and is judged so.
expect 0 model resnet50 --image 64 --batch 2 --views --out v.json
expect 0 plan v.json -b 60% --out v.plan --quiet
same "$(grep -oE '"run",[0-9]+' v.plan | sort -u | wc -l)" "$(grep -c '"cost":' v.json)" "ops that run"
expect 0 check v.json v.plan
says "v.plan: valid for"
sed -E '0,/\["run",1\]/s//["run",0]/' v.plan >w.plan
expect 3 check v.json w.plan
complains "w.plan: "

# In an order of its own a graph whose wide tensors wait needs less without replays, and its plan is judged like any other.
expect 0 plan mobile-unet -b 100% --order free --json --out free.plan
same "$(number overhead)" 0 "overhead"
same "$(number order_peak_bytes)" "$(number order_limit_bytes)" "peak of the order, and what none is below"
holds "$(number peak_bytes) == $(number order_peak_bytes)"
holds "$(number peak_bytes) < $(number keep_all_peak_bytes)"
holds "$(number budget_bytes) == $(number keep_all_peak_bytes)"
says '"solver":"reorder+keep_all"'
expect 0 check mobile-unet free.plan
expect 0 plan mobile-unet -b 100% --order free
says "in another order, every op once: peak"
says "proven least"
expect 0 plan chain.json -b 75% --order given --json
says '"valid":true}'
expect 2 plan chain.json -b 75% --order any
complains '--order is "any", must be given or free'

# The table, the picture and the files.
expect 0 plan chain.json -b 75% --out p.plan --report r.html --trace t.json --dot d.dot
for word in "chain: 8 ops, 9 tensors, 100 B resident" "keep-all peak" "proven bound" "gap" "recomputed" \
  "wrote p.plan" "wrote r.html" "wrote t.json" "wrote d.dot"; do
  says "$word"
done
silent err
grep -q '^<!DOCTYPE html>' r.html || fail "the report is no page"
grep -q '"traceEvents":\[' t.json || fail "the trace is no trace"
grep -q '^digraph "chain" {' d.dot || fail "the graph is no graph"

# The judge.
expect 0 check chain.json p.plan
says "p.plan: valid for chain under 3.76 KiB"
expect 0 check chain.json p.plan --json
says '"valid":true}'
expect 3 check chain.json p.plan --budget 3099
complains "refused: step"
complains "needs 3100 bytes, the budget is 3099 bytes"
expect 3 check chain.json p.plan --budget 3099 --json
says '"valid":false}'
same "$(number budget_bytes)" 3099 "the budget judged against"
expect 0 check chain.json p.plan --budget 60%
sed 's/"peak_bytes":[0-9]*/"peak_bytes":1/' p.plan >lie.plan
expect 3 check chain.json lie.plan
complains "the certificate says a peak of 1 bytes, the judge measures"
# Two buffers at one place: the second offset becomes that of the first.
sed -E 's/"offsets":\[([0-9]+),[0-9]+/"offsets":[\1,\1/' p.plan >overlap.plan
expect 3 check chain.json overlap.plan
complains "overlaps"

# A plan made for another alignment is judged with that alignment.
expect 0 plan chain.json -b 80% --align 512 --out aligned.plan --quiet
expect 0 check chain.json aligned.plan
expect 0 check chain.json aligned.plan --align 512
sed 's/"cost":10,/"cost":11,/' chain.json >other.json
expect 2 check other.json p.plan
complains "plan this graph anew"

# From standard input.
"$program" plan - --budget 75% --json <chain.json >out || fail "plan from standard input"
says '"graph":"chain"'
finish
