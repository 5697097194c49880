#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# macros.sh FILE COMPILER [FLAG...]: the library's headers leave no macro behind that does not begin with STRATA_.
set -euo pipefail
file="$1"
shift
text="$("$@" -E -dD "$file")"
awk '
  /^# [0-9]+ "/ { ours = $3 ~ /include\/strata\// }
  ours && /^#define / { name = $2; sub(/\(.*/, "", name); defined[name] = 1; seen = 1 }
  /^#undef / { delete defined[$2] }
  END {
    if (!seen) { print "no macro of the library was seen, not even its version"; exit 1 }
    for (name in defined) {
      if (name !~ /^STRATA_/) { print "macro " name " leaks out of the headers"; status = 1 }
    }
    exit status
  }' <<<"$text"
