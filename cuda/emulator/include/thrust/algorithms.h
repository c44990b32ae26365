// Thrust's algorithms as those of the C++ library, one after the other. The toolkit's headers have
// them by their kinds; here each of those includes all.
#pragma once

#include "device_ptr.h"
#include "functional.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace thrust {
namespace detail {

template <class It>
using Value = typename std::iterator_traits<It>::value_type;

// Loops, as std::copy and std::fill may be calls that no check sees.
template <class First, class Result>
Result copy(First first, First last, Result to) {
  for (; first != last; ++first, ++to) *to = *first;
  return to;
}
template <class First, class N, class Result>
Result copy_n(First first, N n, Result to) {
  return detail::copy(first, first + n, to);
}
template <class First, class Result, class Test>
Result copy_if(First first, First last, Result to, Test test) {
  return std::copy_if(first, last, to, test);
}
template <class First, class Flags, class Result, class Test>
Result copy_if(First first, First last, Flags flags, Result to, Test test) {
  for (; first != last; ++first, ++flags) {
    if (test(*flags)) *to++ = *first;
  }
  return to;
}
template <class First, class T>
void fill(First first, First last, const T& value) {
  for (; first != last; ++first) *first = value;
}
template <class First, class N, class T>
First fill_n(First first, N n, const T& value) {
  detail::fill(first, first + n, value);
  return first + n;
}
template <class First>
void sequence(First first, First last) {
  std::iota(first, last, Value<First>(0));
}
template <class First, class T, class Step = T>
void sequence(First first, First last, T begin, Step step = Step(1)) {
  for (T value = begin; first != last; ++first, value = value + step) *first = value;
}
template <class First, class F>
void generate(First first, First last, F f) {
  std::generate(first, last, f);
}
template <class First, class F>
void tabulate(First first, First last, F f) {
  for (std::ptrdiff_t i = 0; first != last; ++first, ++i) *first = f(i);
}
template <class First, class F>
First for_each(First first, First last, F f) {
  for (; first != last; ++first) f(*first);
  return first;
}
template <class First, class N, class F>
First for_each_n(First first, N n, F f) {
  return detail::for_each(first, first + n, f);
}
template <class First, class Result, class F>
Result transform(First first, First last, Result to, F f) {
  for (; first != last; ++first, ++to) *to = f(*first);
  return to;
}
template <class First, class Second, class Result, class F>
Result transform(First first, First last, Second second, Result to, F f) {
  for (; first != last; ++first, ++second, ++to) *to = f(*first, *second);
  return to;
}
template <class First, class T, class Join>
T reduce(First first, First last, T sum, Join join) {
  for (; first != last; ++first) sum = join(sum, *first);
  return sum;
}
template <class First, class T>
T reduce(First first, First last, T sum) {
  return detail::reduce(first, last, sum, plus<T>());
}
template <class First>
Value<First> reduce(First first, First last) {
  return detail::reduce(first, last, Value<First>(0));
}
template <class First, class F, class T, class Join>
T transform_reduce(First first, First last, F f, T sum, Join join) {
  for (; first != last; ++first) sum = join(sum, f(*first));
  return sum;
}
template <class First, class Second, class T, class Join, class F>
T inner_product(First first, First last, Second second, T sum, Join join, F f) {
  for (; first != last; ++first, ++second) sum = join(sum, f(*first, *second));
  return sum;
}
template <class First, class Second, class T>
T inner_product(First first, First last, Second second, T sum) {
  return detail::inner_product(first, last, second, sum, plus<T>(), multiplies<T>());
}
/// The sums of neighbours with equal keys.
template <class Keys, class Values, class KeysTo, class ValuesTo>
std::pair<KeysTo, ValuesTo> reduce_by_key(Keys keys, Keys last, Values values, KeysTo keys_to,
                                          ValuesTo values_to) {
  while (keys != last) {
    const Value<Keys> key = *keys;
    Value<Values> sum = *values;
    for (++keys, ++values; keys != last && *keys == key; ++keys, ++values) sum = sum + *values;
    *keys_to++ = key;
    *values_to++ = sum;
  }
  return {keys_to, values_to};
}
template <class First, class Result, class Join = plus<>>
Result inclusive_scan(First first, First last, Result to, Join join = Join()) {
  return std::partial_sum(first, last, to, join);
}
template <class First, class Result, class T, class Join = plus<>>
Result exclusive_scan(First first, First last, Result to, T sum, Join join = Join()) {
  for (; first != last; ++first, ++to) {
    const T next = join(sum, *first);
    *to = sum;
    sum = next;
  }
  return to;
}
template <class First, class Result>
Result exclusive_scan(First first, First last, Result to) {
  return detail::exclusive_scan(first, last, to, Value<First>(0));
}
template <class First, class Result, class Join = minus<>>
Result adjacent_difference(First first, First last, Result to, Join join = Join()) {
  return std::adjacent_difference(first, last, to, join);
}
template <class First, class Less = less<>>
void sort(First first, First last, Less before = Less()) {
  std::stable_sort(first, last, before);
}
template <class First, class Less = less<>>
void stable_sort(First first, First last, Less before = Less()) {
  std::stable_sort(first, last, before);
}
template <class Keys, class Values, class Less = less<>>
void sort_by_key(Keys keys, Keys last, Values values, Less before = Less()) {
  std::vector<std::pair<Value<Keys>, Value<Values>>> both;
  for (Keys key = keys; key != last; ++key) both.emplace_back(*key, values[key - keys]);
  std::stable_sort(both.begin(), both.end(),
                   [&](const auto& a, const auto& b) { return before(a.first, b.first); });
  for (const auto& each : both) {
    *keys++ = each.first;
    *values++ = each.second;
  }
}
template <class Keys, class Values, class Less = less<>>
void stable_sort_by_key(Keys keys, Keys last, Values values, Less before = Less()) {
  detail::sort_by_key(keys, last, values, before);
}
template <class First, class Less = less<>>
bool is_sorted(First first, First last, Less before = Less()) {
  return std::is_sorted(first, last, before);
}
template <class First, class Less = less<>>
First min_element(First first, First last, Less before = Less()) {
  return std::min_element(first, last, before);
}
template <class First, class Less = less<>>
First max_element(First first, First last, Less before = Less()) {
  return std::max_element(first, last, before);
}
template <class First, class Less = less<>>
std::pair<First, First> minmax_element(First first, First last, Less before = Less()) {
  return {std::min_element(first, last, before), std::max_element(first, last, before)};
}
template <class First, class T>
std::ptrdiff_t count(First first, First last, const T& value) {
  return std::count(first, last, value);
}
template <class First, class Test>
std::ptrdiff_t count_if(First first, First last, Test test) {
  return std::count_if(first, last, test);
}
template <class First, class T>
First find(First first, First last, const T& value) {
  return std::find(first, last, value);
}
template <class First, class Test>
First find_if(First first, First last, Test test) {
  return std::find_if(first, last, test);
}
template <class First, class Test>
bool all_of(First first, First last, Test test) {
  return std::all_of(first, last, test);
}
template <class First, class Test>
bool any_of(First first, First last, Test test) {
  return std::any_of(first, last, test);
}
template <class First, class Test>
bool none_of(First first, First last, Test test) {
  return std::none_of(first, last, test);
}
template <class First, class Second>
bool equal(First first, First last, Second second) {
  return std::equal(first, last, second);
}
template <class First>
void reverse(First first, First last) {
  std::reverse(first, last);
}
template <class First, class T>
void replace(First first, First last, const T& old, const T& value) {
  std::replace(first, last, old, value);
}
template <class First, class T>
First remove(First first, First last, const T& value) {
  return std::remove(first, last, value);
}
template <class First, class Test>
First remove_if(First first, First last, Test test) {
  return std::remove_if(first, last, test);
}
template <class First>
First unique(First first, First last) {
  return std::unique(first, last);
}
template <class First, class Test>
First partition(First first, First last, Test test) {
  return std::stable_partition(first, last, test);
}
template <class Map, class From, class Result>
Result gather(Map map, Map last, From from, Result to) {
  for (; map != last; ++map, ++to) *to = from[*map];
  return to;
}
template <class First, class Map, class Result>
void scatter(First first, First last, Map map, Result to) {
  for (; first != last; ++first, ++map) to[*map] = *first;
}

}  // namespace detail

#define PRENORM_ALGORITHM(name)                                                                   \
  template <class... Arguments>                                                                   \
  auto name(const Arguments&... arguments) {                                                      \
    return detail::dispatch(                                                                      \
        "thrust::" #name, [](const auto&... raw) { return detail::name(raw...); }, arguments...); \
  }
PRENORM_ALGORITHM(adjacent_difference)
PRENORM_ALGORITHM(all_of)
PRENORM_ALGORITHM(any_of)
PRENORM_ALGORITHM(copy)
PRENORM_ALGORITHM(copy_if)
PRENORM_ALGORITHM(copy_n)
PRENORM_ALGORITHM(count)
PRENORM_ALGORITHM(count_if)
PRENORM_ALGORITHM(equal)
PRENORM_ALGORITHM(exclusive_scan)
PRENORM_ALGORITHM(fill)
PRENORM_ALGORITHM(fill_n)
PRENORM_ALGORITHM(find)
PRENORM_ALGORITHM(find_if)
PRENORM_ALGORITHM(for_each)
PRENORM_ALGORITHM(for_each_n)
PRENORM_ALGORITHM(gather)
PRENORM_ALGORITHM(generate)
PRENORM_ALGORITHM(inclusive_scan)
PRENORM_ALGORITHM(inner_product)
PRENORM_ALGORITHM(is_sorted)
PRENORM_ALGORITHM(max_element)
PRENORM_ALGORITHM(min_element)
PRENORM_ALGORITHM(minmax_element)
PRENORM_ALGORITHM(none_of)
PRENORM_ALGORITHM(partition)
PRENORM_ALGORITHM(reduce)
PRENORM_ALGORITHM(reduce_by_key)
PRENORM_ALGORITHM(remove)
PRENORM_ALGORITHM(remove_if)
PRENORM_ALGORITHM(replace)
PRENORM_ALGORITHM(reverse)
PRENORM_ALGORITHM(scatter)
PRENORM_ALGORITHM(sequence)
PRENORM_ALGORITHM(sort)
PRENORM_ALGORITHM(sort_by_key)
PRENORM_ALGORITHM(stable_sort)
PRENORM_ALGORITHM(stable_sort_by_key)
PRENORM_ALGORITHM(tabulate)
PRENORM_ALGORITHM(transform)
PRENORM_ALGORITHM(transform_reduce)
PRENORM_ALGORITHM(unique)
#undef PRENORM_ALGORITHM

template <class It>
auto distance(It first, It last) {
  return last - first;
}

}  // namespace thrust
