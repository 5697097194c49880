#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# umbrella.sh COMPONENT_FOLDER..., in the project's root: every core header but detail/ is in one of the umbrellas strata.hpp
# and hierarchy.hpp, none in both; neither has one that reaches Eigen or Boost, or one of another component, and strata.hpp
# none that reaches partition/ or merge/.
set -euo pipefail
find include -name '*.hpp' -printf '%P\n' | sort | (cd include && xargs awk -v others="$*" '
  function umbrella(file) { return file == "strata/strata.hpp" || file == "strata/hierarchy.hpp" }
  FNR == 1 { headers[++count] = FILENAME }
  /^#[ ]*include[ ]*</ {
    name = $0
    sub(/^[^<]*</, "", name)
    sub(/>.*/, "", name)
    if (umbrella(FILENAME)) {
      if (name in in_umbrella) { print name " is in " in_umbrella[name] " and in " FILENAME; status = 1 }
      in_umbrella[name] = FILENAME
    }
    else if (name ~ /^(Eigen|boost)\//) { heavy[FILENAME] = name }
    else { includes[FILENAME] = includes[FILENAME] " " name }
    if (name ~ /^strata\/(partition|merge)\//) { blocks[FILENAME] = 1 }
  }
  END {
    split(others, list, " ")
    for (i in list) { other[list[i]] = 1 }
    do {
      changed = 0
      for (header in includes) {
        n = split(includes[header], list, " ")
        for (i = 1; i <= n; ++i) {
          if (!(header in heavy) && (list[i] in heavy)) { heavy[header] = heavy[list[i]]; changed = 1 }
          if (!(header in blocks) && (list[i] in blocks)) { blocks[header] = 1; changed = 1 }
        }
      }
    } while (changed)
    for (k = 1; k <= count; ++k) {
      header = headers[k]
      if (umbrella(header)) { continue }
      split(header, part, "/")
      own = (header in blocks) || part[2] == "partition" || part[2] == "merge"
      if ((part[2] in other) && (header in in_umbrella)) {
        print in_umbrella[header] " includes " header ", which belongs to component " part[2]; status = 1
      } else if ((header in heavy) && (header in in_umbrella)) {
        print in_umbrella[header] " includes " header ", which reaches " heavy[header]; status = 1
      } else if (own && in_umbrella[header] == "strata/strata.hpp") {
        print "strata.hpp includes " header ", which is about blocks: it belongs into hierarchy.hpp"; status = 1
      } else if (!(header in in_umbrella) && !(header in heavy) && !(part[2] in other) && part[2] != "detail") {
        print "no umbrella includes " header; status = 1
      }
    }
    exit status
  }')
