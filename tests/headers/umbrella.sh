#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# umbrella.sh COMPONENT_FOLDER..., in the project's root: strata.hpp includes every core header but detail/, and none
# that reaches Eigen or Boost, nor any of another component.
set -euo pipefail
find include -name '*.hpp' -printf '%P\n' | sort | (cd include && xargs awk -v others="$*" '
  FNR == 1 { headers[++count] = FILENAME }
  /^#[ ]*include[ ]*</ {
    name = $0
    sub(/^[^<]*</, "", name)
    sub(/>.*/, "", name)
    if (FILENAME == "strata/strata.hpp") { in_umbrella[name] = 1 }
    else if (name ~ /^(Eigen|boost)\//) { heavy[FILENAME] = name }
    else { includes[FILENAME] = includes[FILENAME] " " name }
  }
  END {
    split(others, list, " ")
    for (i in list) { other[list[i]] = 1 }
    do {
      changed = 0
      for (header in includes) {
        n = split(includes[header], list, " ")
        for (i = 1; i <= n && !(header in heavy); ++i) {
          if (list[i] in heavy) { heavy[header] = heavy[list[i]]; changed = 1 }
        }
      }
    } while (changed)
    status = 0
    for (k = 1; k <= count; ++k) {
      header = headers[k]
      if (header == "strata/strata.hpp") { continue }
      split(header, part, "/")
      if ((part[2] in other) && (header in in_umbrella)) {
        print "strata.hpp includes " header ", which belongs to component " part[2]; status = 1
      } else if ((header in heavy) && (header in in_umbrella)) {
        print "strata.hpp includes " header ", which reaches " heavy[header]; status = 1
      } else if (!(header in in_umbrella) && !(header in heavy) && !(part[2] in other) && part[2] != "detail") {
        print "strata.hpp does not include " header; status = 1
      }
    }
    exit status
  }')
