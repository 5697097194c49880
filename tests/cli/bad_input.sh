#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Malformed graphs and plans: exit status 2 and one message that names the file and the place, whatever the command.
source "$(dirname "${BASH_SOURCE[0]}")/support.bash"

bad_graph() { # MESSAGE: the file bad.json is refused with it by every command that reads graphs
  for command in "plan bad.json --budget 50%" "inspect bad.json" "sweep bad.json --json"; do
    # shellcheck disable=SC2086
    expect 2 $command
    complains "strata: bad.json: $1"
    silent out
    same "$(wc -l <err)" 1 "lines on standard error"
  done
}
changed() { sed "$1" chain.json >bad.json; }

: >bad.json
bad_graph "the text is empty, a JSON object is needed"
head -c 700 chain.json >bad.json
bad_graph "line 15, column 25 (byte 700): the text ends too early, as if cut off"
printf 'GIF89a' >bad.json
bad_graph 'line 1, column 1 (byte 0): the text is not JSON: found "G"'
printf '{"a":"\xff"}' >bad.json
bad_graph "line 1, column 7 (byte 6): a string is not UTF-8"
head -c 2000000 /dev/zero | tr '\0' '[' >bad.json
bad_graph "the document is an array, which may not stand here"
{ printf '{"x":' && head -c 2000000 /dev/zero | tr '\0' '['; } >bad.json
bad_graph "x is nested deeper than 64 levels"
changed 's/strata-graph/strata-plan/'
bad_graph 'format is the string "strata-plan", must be "strata-graph"'
changed 's/"version":1/"version":2/'
bad_graph "version is 2, but this reader knows version 1 only"
changed 's/"name":"f3","type":"f",/"name":"f3",/'
bad_graph 'ops[2] lacks the key "type", add it'
changed 's/"name":"a2","bytes":1000/"name":"a2","bytes":"1000"/'
bad_graph 'tensors[2].bytes is the string "1000", must be a whole number of bytes'
changed 's/"name":"a2","bytes":1000/"name":"a2","bytes":-1/'
bad_graph "tensors[2].bytes is -1, must be a whole number of bytes"
changed 's/"name":"a2","bytes":1000/"name":"a2","bytes":1e30/'
bad_graph "tensors[2].bytes is 1e+30, which does not fit 64 bits"
changed 's/"bytes":1000/"bytes":4000000000000000000/'
bad_graph "the bytes of all tensors do not fit 64 bits"
changed 's/"cost":10/"cost":4000000000000000000/'
bad_graph "the sum of all costs does not fit 64 bits at op 2 (f3)"
changed 's/"inputs":\[3,5\]/"inputs":[3,500000]/'
bad_graph "ops[5].inputs[1] names tensor 500000, but there are 9 tensors, counted from 0"
changed 's/"inputs":\[0\],/"inputs":[0,8],/'
bad_graph "op 0 (f1) reads tensor 8 (g1) before op 7 (b1) has produced it"
changed 's/"outputs":\[2\]/"outputs":[1]/'
bad_graph "tensor 1 (a1) is produced by op 0 (f1) and by op 1 (f2)"
changed 's/"targets":\[8\]/"targets":[9999999999]/'
bad_graph "targets[0] is 9999999999, must be the index of a tensor"
changed 's/"kind":"parameter"/"kind":"weight"/'
bad_graph 'tensors[0].kind is "weight", must be a tensor kind (input, parameter,'
changed 's/"backward_of":3/"effects":["mutates(77)"]/'
bad_graph "ops[4].effects: mutates(77) names tensor 77"
printf '%s' '{"format":"strata-graph","version":1,"cost_unit":"","tensors":[],"ops":[],"targets":[]}' >bad.json
bad_graph "a step needs at least one op"

# Standard input is named as such.
printf '[]' | { status=0 && "$program" inspect - >out 2>err || status=$?; last="strata inspect -"; same "$status" 2 status; }
complains "strata: standard input: the document is an array"

# Unknown keys are ignored with a warning, which --quiet silences.
changed 's/"version":1,/"version":1,"author":[1,{"x":2}],/'
expect 0 inspect bad.json
complains "strata: warning: bad.json: unknown key author is ignored"
expect 0 inspect bad.json --quiet
silent err

# Plans.
expect 0 plan chain.json -b 75% --out good.plan --quiet
bad_plan() { # STATUS MESSAGE
  expect "$1" check chain.json bad.plan
  complains "strata: bad.plan: $2"
  silent out
}
changed_plan() { sed "$1" good.plan >bad.plan; }
head -c 300 good.plan >bad.plan
bad_plan 2 "line "
complains "the text ends too early, as if cut off"
cp chain.json bad.plan
bad_plan 2 'format is the string "strata-graph", must be "strata-plan"'
changed_plan 's/"fingerprint":"[0-9a-f]*"/"fingerprint":"0123456789abcdef"/'
bad_plan 2 'the plan was made for graph "chain" with fingerprint 0123456789abcdef, but graph "chain" has '
changed_plan '0,/\["run",0\]/s//["run",80]/'
bad_plan 2 "steps[0][1] is 80, but the graph has 8 ops, counted from 0"
changed_plan '0,/\["free",[0-9]*\]/s//["free",-4]/'
bad_plan 2 "steps["
complains "][1] is -4, must be the index of a tensor"
changed_plan 's/"offsets":\[/"offsets":[0,/'
bad_plan 2 "placement.lifetimes has "
complains "every lifetime needs one offset"
# What can be read but does not hold is for the judge.
changed_plan '0,/\["run",0\]/s//["run",1]/'
bad_plan 3 "refused: step 0: op 1 (f2) reads tensor 1 (a1), which is not live"
finish
