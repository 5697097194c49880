#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# listed.sh FILE, in the project's root: include/ holds exactly the headers that CMakeLists.txt lists (FILE has them).
set -euo pipefail
if ! difference="$(diff <(sort "$1") <(find include -type f | sort))"; then
  echo "CMakeLists.txt and include/ disagree ('<' is only listed, '>' is only on disk):"
  echo "$difference"
  exit 1
fi
