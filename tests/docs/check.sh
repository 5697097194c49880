#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check.sh CHECK, in the root of a source tree: one rule that no compiler checks. Prints every offence; fails on any.
# checks_can_fail.sh shows each of them an offence.
set -euo pipefail
export LC_ALL=C

headers() { find include -name '*.hpp' | sort; }
sources() { find include tests examples bench \( -name '*.[ch]pp' -o -name '*.cu' -o -name '*.cuh' \) | sort; }
pages() { find README.md docs -name '*.md' | sort; }

# refuse TEXT: reads offences from standard input; fails, with TEXT above them, if there are any.
refuse() {
  local offences
  offences="$(cat)"
  [ -z "$offences" ] && return 0
  printf '%s:\n%s\n' "$1" "$offences"
  return 1
}

# What `<!-- snippet: FILE -->` or `<!-- snippet: FILE#REGION -->` stands for: the file without its licence line, or the
# lines between two `// [REGION]`.
snippet_of() {
  local file="${1%%#*}" region="${1#*#}"
  [ -f "$file" ] || { echo "(there is no file $file)" && return 0; }
  if [ "$region" = "$1" ]; then
    sed '1{/SPDX-License-Identifier/d}' "$file"
  else
    awk -v mark="// [$region]" '{ line = $0; sub(/^ +/, "", line) } line == mark { inside = !inside; next } inside' "$file"
  fi
}

# The first line of a page's fence that follows line $2, to its end.
fence_after() { awk -v from="$2" 'NR == from + 1 && !/^```/ { exit } NR == from + 1 { next } NR > from && /^```$/ { exit } NR > from' "$1"; }

check_snippets() {
  local page line file marks=0 status=0
  while IFS=: read -r page line file; do
    marks=$((marks + 1))
    if ! diff -u --label "$file" --label "$page:$line" <(snippet_of "$file") <(fence_after "$page" "$line"); then
      status=1
    fi
  done < <(pages | xargs grep -n '^<!-- snippet: .* -->$' /dev/null | sed -E 's/<!-- snippet: (.*) -->/\1/')
  if ! grep -q '^<!-- snippet: .* -->$' README.md; then
    echo "README.md shows no file: mark its program with <!-- snippet: examples/... -->"
    status=1
  fi
  return "$status"
}

# public_concepts: `FILE:LINE NAME MISSING...` of every concept outside namespace detail and outside macros, with the
# parts of the doc block that are missing or out of order.
public_concepts() {
  headers | xargs awk '
    FNR == 1 { block = ""; detail = 0 }
    /^namespace (.*::)?detail[: {]/ { detail = 1 }
    /^\} *\/\/ namespace .*detail/ { detail = 0 }
    /^ *\/\/\// { block = block $0 "\n"; next }
    /^ *concept [a-z_0-9]+ *=/ && !/\\$/ && !detail {
      at = 0
      missing = ""
      n = split("Given|Laws:|Not needed:|Cost:|Models:|Near miss:", part, "|")
      for (i = 1; i <= n; ++i) {
        found = index(substr(block, at + 1), "/// " part[i])
        if (found) { at += found } else { missing = missing " \"" part[i] "\"" }
      }
      print FILENAME ":" FNR " " $2 missing
    }
    # Only these may stand between a doc block and its concept.
    !/^ *(template|requires|class|typename|\/\/ clang-format)/ { block = "" }'
}
check_concepts() {
  local status=0 place name missing
  public_concepts | awk 'NF > 2' |
    refuse "concepts whose doc block lacks these parts, or has them in another order (docs/CONTRIBUTING.md)" || status=1
  public_concepts | while read -r place name missing; do
    grep -rqw -- "$name" tests/concepts 2>/dev/null || echo "$place $name"
  done | refuse "concepts that no test in tests/concepts/ names" || status=1
  return "$status"
}

check_errors() {
  diff <(sed -n '/^enum class errc/,/^}/s/^ *\([a-z_]*\),.*/\1/p' include/strata/error.hpp | sort) \
    <(sed -nE 's/^#+ `?([a-z_]+)`?$/\1/p' docs/errors.md | sort) |
    refuse "errc and the headings of docs/errors.md differ ('<' is only in the enumeration)"
}

check_version() {
  local header log
  header="$(awk '/define STRATA_VERSION_(MAJOR|MINOR|PATCH)/ { v = v (v == "" ? "" : ".") $3 } END { print v }' include/strata/version.hpp)"
  log="$(sed -nE '/^## /{s/^## ([0-9.]+).*/\1/p;q}' docs/CHANGELOG.md)"
  [ "$header" = "$log" ] || echo "version.hpp says $header, the top entry of docs/CHANGELOG.md says '$log'" | refuse "version"
}

# includes_only_in PATTERN FOLDERS FILES...: who else includes PATTERN.
includes_only_in() {
  local pattern="$1" folders="$2"
  shift 2
  grep -nE "^ *# *include *[<\"]$pattern" "$@" /dev/null | grep -vE "^($folders)" || true
}
check_dependencies() {
  local h all status=0
  mapfile -t h < <(headers)
  mapfile -t all < <(sources)
  {
    includes_only_in 'Eigen/' 'include/strata/(cost|solve|glpk|cbc)/' "${h[@]}"
    includes_only_in 'boost/' 'include/strata/(cost|solve|pipeline)/' "${h[@]}"
    includes_only_in 'nlohmann/' 'include/strata/io/' "${h[@]}"
    includes_only_in 'CLI/' 'examples/(cli|engine_eigen)/' "${all[@]}"
    includes_only_in 'glpk' 'include/strata/glpk/' "${h[@]}"
    includes_only_in '(coin/|Cbc|Clp|Osi)' 'include/strata/cbc/' "${h[@]}"
    includes_only_in 'cuda/' 'include/strata/cuda/cccl_resource.hpp' "${h[@]}"
    includes_only_in '(cuda[^/]|cublas|device_launch|driver_types)' 'include/strata/cuda/runtime.hpp' "${h[@]}"
    includes_only_in '(ATen|torch|c10)/' 'include/strata/torch/' "${h[@]}"
  } | refuse "third-party headers outside the folder that may include them" || status=1
  includes_only_in 'boost/(hana[.]hpp|[^h]|h[^a]|ha[^n])' 'nowhere' "${h[@]}" |
    refuse "of Boost only the small headers of Hana are used" || status=1
  includes_only_in '(ranges|iostream|format|regex|expected|print)>' 'include/strata/(io|glpk|cbc|cuda|torch)/' "${h[@]}" |
    refuse "standard headers that are too slow, or too new, for the core" || status=1
  { grep -nE '^ *# *include *<strata/strata.hpp>' "${h[@]}" || true; } |
    refuse "no header of the library includes the umbrella" || status=1
  { grep -nE '^ *# *include *"' "${h[@]}" || true; } | refuse "own headers are included as <strata/...>" || status=1
  return "$status"
}

check_lines() {
  local status=0
  headers | xargs wc -l | awk '$2 != "total" && $1 > 500' | refuse "headers over 500 lines" || status=1
  wc -l README.md docs/CONTRIBUTING.md | awk '$2 == "README.md" && $1 > 150 || $2 ~ /CONTRIBUTING/ && $1 > 100' |
    refuse "README.md has at most 150 lines, docs/CONTRIBUTING.md at most 100" || status=1
  return "$status"
}

check_anatomy() {
  local file status=0
  { sources; find . \( -name build -o -name out -o -name .git \) -prune -o \( -name '*.sh' -o -name '*.cmake*' -o -name CMakeLists.txt \) -type f -print; } |
    while read -r file; do
      head -n 2 "$file" | grep -q 'SPDX-License-Identifier: Apache-2.0' || echo "$file"
    done | refuse "no SPDX line at the top" || status=1
  headers | while read -r file; do
    for line in '^/// @file$' '^/// @brief .' '^#pragma once$'; do
      grep -q "$line" "$file" || echo "$file lacks $line"
    done
  done | refuse "anatomy of a header" || status=1
  find README.md docs -name '*.md' | sort | while read -r file; do
    head -n 1 "$file" | grep -q '^# ' || echo "$file begins with something else"
    awk -v file="$file" '
      row && !/^\|[-|: ]+$/ { print file ":" NR - 1 " is a row of no table" }
      { row = /^\|/ && last !~ /^\|/; last = $0 }' "$file"
  done | refuse "documents begin with their title, tables with a head" || status=1
  return "$status"
}

check_names() { { find tests -name '*.test.cpp' | sort | xargs grep -nE 'TEST_CASE.*".*;.*"' /dev/null || true; } | refuse "ctest cannot select a test with a semicolon in its name"; }

check_using() { { find include tests examples bench -name '*.hpp' | sort | xargs grep -nE '^ *using namespace' /dev/null || true; } | refuse "using namespace in a header"; }

check_marks() { { sources | xargs grep -nwE 'TO''DO|FIX''ME|XX''X|HA''CK' /dev/null || true; } | refuse "unfinished"; }

check_format() { sources | xargs clang-format-16 --dry-run 2>&1 | sed -n '/warning:/p' | sort -u | refuse "run clang-format-16 -i on these"; }

"check_$1"
