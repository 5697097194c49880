#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# umbrella.sh COMPONENT_FOLDER..., in the project's root: every core header but detail/ is in one of the umbrellas
# strata.hpp, hierarchy.hpp (what reaches partition/ or merge/) and execute.hpp (what reaches execute/), none in two; none has
# one that reaches Eigen or Boost, or one of another component.
set -euo pipefail
find include -name '*.hpp' -printf '%P\n' | sort | (cd include && xargs awk -v others="$*" '
  function umbrella(file) { return file ~ /^strata\/(strata|hierarchy|execute)\.hpp$/ }
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
    if (name ~ /^strata\/(partition|merge)\//) { special[FILENAME] = "strata/hierarchy.hpp" }
    if (name ~ /^strata\/execute\//) { special[FILENAME] = "strata/execute.hpp" }
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
          if (!(header in special) && (list[i] in special)) { special[header] = special[list[i]]; changed = 1 }
        }
      }
    } while (changed)
    for (k = 1; k <= count; ++k) {
      header = headers[k]
      if (umbrella(header)) { continue }
      split(header, part, "/")
      own = "strata/strata.hpp"
      if (header in special) { own = special[header] }
      if (part[2] == "partition" || part[2] == "merge") { own = "strata/hierarchy.hpp" }
      if (part[2] == "execute") { own = "strata/execute.hpp" }
      if ((part[2] in other) && (header in in_umbrella)) {
        print in_umbrella[header] " includes " header ", which belongs to component " part[2]; status = 1
      } else if ((header in heavy) && (header in in_umbrella)) {
        print in_umbrella[header] " includes " header ", which reaches " heavy[header]; status = 1
      } else if (own != "strata/strata.hpp" && (header in in_umbrella) && in_umbrella[header] != own) {
        print in_umbrella[header] " includes " header ", which belongs into " own; status = 1
      } else if (!(header in in_umbrella) && !(header in heavy) && !(part[2] in other) && part[2] != "detail") {
        print "no umbrella includes " header; status = 1
      }
    }
    exit status
  }')
