// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief A type that is not looked at before its template is called.
#pragma once

namespace strata::detail {

template <class T, class...>
struct lazy_ {
    using type = T;
};

/// `T`, inside a template with a parameter in `On`. What is done with it is compiled where the template is called, not
/// wherever its header is included (docs/design/0005).
template <class T, class... On>
using lazy = typename lazy_<T, On...>::type;

} // namespace strata::detail
