#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# compile_fail.sh FILE COMPILER [FLAG...]: passes when FILE is refused with the message of its first line,
# `// expect-error: <extended regular expression>`.
set -euo pipefail
file="$1"
shift
want="$(sed -n '1s,^// expect-error: ,,p' "$file")"
if [ -z "$want" ]; then
  echo "$file: line 1 must be '// expect-error: <regex>'"
  exit 1
fi
# Without the carets, which would show the source: the message has to come from the compiler.
no_carets=-fno-diagnostics-show-caret
[[ "$("$1" --version)" != *clang* ]] || no_carets=-fno-caret-diagnostics
if out="$("$@" -fsyntax-only "$no_carets" "$file" 2>&1)"; then
  echo "$file compiles, but must be refused with: $want"
  exit 1
fi
if ! grep -Eq -- "$want" <<<"$out"; then
  printf '%s is refused, but without: %s\nthe compiler said:\n%s\n' "$file" "$want" "$out"
  exit 1
fi
