// SPDX-License-Identifier: Apache-2.0
//
// {fmt} as an archive, made of its headers: Debian has it as a shared library only, which a program would have to
// carry along, and as headers alone it takes most of the time that a file takes to compile.
#include <fmt/format-inl.h>

#include <locale>

// What the headers leave to one translation unit.
template FMT_API fmt::detail::dragonbox::decimal_fp<float> fmt::detail::dragonbox::to_decimal(float) noexcept;
template FMT_API fmt::detail::dragonbox::decimal_fp<double> fmt::detail::dragonbox::to_decimal(double) noexcept;
template FMT_API fmt::detail::locale_ref::locale_ref(const std::locale&);
template FMT_API std::locale fmt::detail::locale_ref::get<std::locale>() const;
template FMT_API fmt::detail::thousands_sep_result<char> fmt::detail::thousands_sep_impl<char>(locale_ref);
template FMT_API char fmt::detail::decimal_point_impl<char>(locale_ref);
