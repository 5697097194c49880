#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# strata inspect, sweep and model.
source "$(dirname "${BASH_SOURCE[0]}")/support.bash"

expect 0 inspect chain.json
for text in "8   4 forward, 4 backward" "100 B   1 tensor" "4.98 KiB   at op 4 (b4)" "least budget" "proven;"; do says "$text"; done
expect 0 inspect chain.json --json --dot g.dot
same "$(number keep_all_peak_bytes)" 5100 "keep-all peak"
same "$(number resident_bytes)" 100 "resident"
same "$(number largest_op_bytes)" 3000 "largest op"
same "$(number minimum_budget_bytes)" 3100 "least budget"
same "$(number tensors)" 9 "tensors"
grep -q '^digraph' g.dot || fail "inspect --dot"

# The frontier: ascending budgets, never a costlier plan for more bytes.
expect 0 sweep chain.json --points 6 --csv
same "$(head -n 1 out)" "budget_bytes,peak_bytes,arena_bytes,base_cost,cost,overhead,lower_bound,gap,seconds,solver" header
awk -F, 'NR > 2 && ($1 <= budget || $5 > cost) || NR > 1 && $2 > $1 { bad = 1 } { budget = $1; cost = $5 } END { exit bad || NR < 3 }' out ||
  fail "the frontier is not monotone"
same "$(tail -n 1 out | cut -d, -f1,5)" "5100,120" "the last plan keeps all"
expect 0 sweep chain.json --points 4 --json
says '{"graph":"chain","ops":8,"plans":['
says '"valid":true}'
expect 0 sweep chain.json --report s.html
says "overhead"
says "wrote s.html"
expect 0 sweep chain.json --points 1 --csv
same "$(wc -l <out)" 2 "one plan and a header"

# Models are written in the format that every reader knows, and planned by name as well as from the file.
expect 0 model --list
says "gpt2-medium"
expect 0 model gpt2-small --layers 1 --batch 1 --seq 8 --out m.json
says "wrote m.json: "
grep -qE 'view_of|mutates' m.json && fail "a model with views"
expect 0 model resnet50 --image 64 --views
says '"view_of":'
expect 0 model gpt2-small --layers 1 --batch 1 --seq 8 --align 256
cmp -s out m.json && fail "--align is ignored"
says '"alignment":256'
expect 0 plan m.json -b 90% --json
from_file="$(number keep_all_peak_bytes)"
"$program" model gpt2-small --layers 1 --batch 1 --seq 8 | "$program" plan - -b 90% --json >out
same "$(number keep_all_peak_bytes)" "$from_file" "keep-all peak"
expect 0 inspect lstm --json
says '"graph":"lstm"'
finish
