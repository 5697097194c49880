# SPDX-License-Identifier: Apache-2.0
# Sourced by the run scripts: `need_packages PACKAGE...` sees to it that these Debian packages are there.
#
# As root the missing ones are installed; otherwise they are named, and the script ends with exit code 2.

need_packages() {
  local package missing=()
  for package in "$@"; do
    dpkg-query --show --showformat='${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed ||
      missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0

  if [ "$(id -u)" -ne 0 ]; then
    {
      echo "These Debian packages are missing: ${missing[*]}"
      echo "Install them as root, then run this again:"
      echo "  apt-get update && apt-get install --no-install-recommends ${missing[*]}"
    } >&2
    exit 2
  fi
  echo "== installing ${missing[*]}"
  # One retry after refreshing the lists: a fresh machine has none, a used one need not wait for them.
  export DEBIAN_FRONTEND=noninteractive
  apt-get install --yes -qq --no-install-recommends "${missing[@]}" >/dev/null 2>&1 ||
    { apt-get update -qq && apt-get install --yes -qq --no-install-recommends "${missing[@]}" >/dev/null; } || {
      echo "apt-get could not install: ${missing[*]}" >&2
      exit 2
    }
}

# want_packages PACKAGE...: installs these where that is possible, and goes on without where it is not.
want_packages() {
  [ "$(id -u)" -eq 0 ] || return 0
  (need_packages "$@") || echo "== going on without $*"
}

# What every build needs, and what the tests need on top.
strata_build_packages=(g++ cmake ninja-build ccache libeigen3-dev libboost-dev nlohmann-json3-dev libcli11-dev)
strata_test_packages=(libglpk-dev coinor-libcbc-dev catch2 clang-16 clang-tidy-16 clang-format-16 libclang-rt-16-dev)
# What tests do without where it cannot be had: libtorch, and a BLAS that is not slow.
strata_optional_packages=(libtorch-dev libopenblas0-pthread libgloo-dev)
