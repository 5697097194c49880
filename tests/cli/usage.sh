#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What the program says when it is called wrongly: exit status 2, one message on standard error, nothing elsewhere.
source "$(dirname "${BASH_SOURCE[0]}")/support.bash"

expect 0 --help
for command in plan inspect sweep check model solvers; do
  says "$command"
  expect 0 "$command" --help
  says "Usage: strata $command"
  expect 0 --help
done
expect 0 --version
says "strata "

refused() { # MESSAGE ARGUMENT...
  local message="$1"
  shift
  expect 2 "$@"
  complains "$message"
  silent out
}
refused "A subcommand is required"
refused "there is no command plann; the commands are plan, inspect" plann
refused "GRAPH is required" plan
refused "--budget is required" plan chain.json
refused "The following argument was not expected: --fast" plan chain.json -b 50% --fast
refused 'budget "8G" has the unknown unit "G"' plan chain.json --budget 8G
refused 'budget "-5%" is negative' plan chain.json --budget -5%
refused 'budget "" does not begin with a number' check chain.json chain.json --budget ''
refused '--solver is "simplex", must be one of default, thorough, cut, greedy' plan chain.json -b 50% --solver simplex
refused '"5" is no time span; write a number with a unit' plan chain.json -b 50% --deadline 5
refused '--threads is "-3", must be a whole number from 0 to 1024' plan chain.json -b 50% --threads -3
refused '--threads is "many", must be a whole number' plan chain.json -b 50% --threads many
refused '--seed is "99999999999999999999", must be a whole number' plan chain.json -b 50% --seed 99999999999999999999
refused '--align is "0", must be a number of bytes of at least 1' plan chain.json -b 50% --align 0
refused '--align is "50%", must be a number of bytes' inspect chain.json --align 50%
refused '--points is 0, must be from 1 to 10000' sweep chain.json --points 0
refused '--csv and --json cannot both be printed' sweep chain.json --csv --json
refused 'which model?' model
refused "there is no model 'gpt2-midium'" model gpt2-midium
refused "gpt2-small has no option image" model gpt2-small --image 3
refused "number type 'int4' is none of fp16, bf16, fp32, int8" model gpt2-small --dtype int4

# Files that are not there, and places that cannot be written, are found before any work is done.
refused "there is no file missing.json, and there is no model 'missing.json'" plan missing.json -b 50%
mkdir folder
refused "cannot read folder: it is a folder" inspect folder
refused "cannot write no/where.json: there is no folder no" plan chain.json -b 50% --out no/where.json
refused "cannot write folder: it is a folder" sweep chain.json --report folder
refused "cannot open missing.plan" check chain.json missing.plan

expect 0 solvers
for solver in default cut greedy sqrt_checkpoint recompute_all keep_all; do says "$solver"; done
finish
