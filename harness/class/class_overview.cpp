#include "base/text.hpp"
#include "base/times.hpp"
#include "class/class_overview.hpp"
#include "explain/causes.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <numeric>
#include <set>

namespace prenorm::harness {
namespace {

constexpr std::size_t bins = 10;

/// The limits that most submissions were graded with.
std::string usual_limits(const std::map<std::string, Entry>& entries) {
  std::map<std::string, std::size_t> counts;
  for (const auto& [name, entry] : entries) {
    if (!entry.files.empty()) ++counts[entry.limits];
  }
  const auto most =
      std::ranges::max_element(counts, {}, [](const auto& each) { return each.second; });
  return most == counts.end() ? "" : most->first;
}

/// Makes an overview; each table of the gradebook is read once.
class OverviewMaker {
 public:
  explicit OverviewMaker(const Gradebook& book)
      : book_(book),
        course_(book.course().value_or(Course{})),
        entries_(book.entries()),
        statuses_(book.statuses()),
        set_points_(book.all_set_points()),
        limits_(usual_limits(entries_)) {}

  Overview make() {
    made_.gradebook = book_.file().filename().string();
    made_.rubric = course_.name;
    made_.title = course_.title;
    for (const RubricItem& item : course_.items) {
      made_.items.push_back({item.name, item.problems, item.points});
      made_.points += item.points;
    }
    std::map<std::string, Entry> others = entries_;
    for (const Student& student : book_.roster()) {
      const auto found = entries_.find(student.submission);
      add(student, found == entries_.end() ? nullptr : &found->second);
      others.erase(student.submission);
    }
    for (const auto& [name, entry] : others) add({name, "", "", ""}, &entry);
    for (auto& [what, mistake] : mistakes_) {
      (mistake.mistake.empty() ? made_.unnamed : made_.mistakes).push_back(std::move(mistake));
    }
    for (auto* all : {&made_.mistakes, &made_.unnamed}) {
      std::ranges::stable_sort(*all, std::greater{}, [](const OverviewMistake& each) {
        return std::pair(each.lost, each.submissions);
      });
    }
    add_decisions();
    add_totals();
    made_.go_on = go_on();
    return std::move(made_);
  }

 private:
  void add(const Student& student, const Entry* entry) {
    OverviewRow& row = made_.rows.emplace_back(OverviewRow{student});
    row.absent = entry == nullptr;
    if (row.absent) row.handed_in.reset();
    row.time_of_files = !row.absent && !row.handed_in;
    if (row.time_of_files) row.handed_in = entry->changed;
    row.graded = !row.absent && !entry->files.empty();
    row.points.resize(made_.items.size());
    Grading grading;
    if (row.graded) {
      grading = book_.outline(row.submission);
      grading.decided = set_points_.contains(row.submission);
      row.not_asked = grading.not_asked;
      row.counted = grading.gradeable() && row.not_asked == 0;
      if (row.not_asked > 0) larger_budget_ = std::max(larger_budget_, grading.larger_budget());
      take(row, grading);
    }
    set_by_hand(row);
    for (std::size_t i = 0; i < row.points.size(); ++i) {
      const OverviewPoints& points = row.points[i];
      row.total += points.earned;
      if (!row.counted && !points.set_by_hand) continue;
      OverviewItem& item = made_.items[i];
      item.earned += points.earned;
      ++item.rows;
      item.full += points.earned >= item.points ? 1 : 0;
    }
    row.flags = flags(row, entry, grading);
  }

  /// Takes points, counts and mistakes from a grading.
  void take(OverviewRow& row, const Grading& grading) {
    for (std::size_t i = 0; i < made_.items.size(); ++i) {
      const auto item = std::ranges::find(grading.items, made_.items[i].name, &GradedItem::name);
      if (item != grading.items.end()) row.points[i].earned = row.points[i].graded = item->earned;
    }
    for (const auto& [status, count] : statuses_[row.submission]) {
      const bool passed = status == Status::passed, skipped = status == Status::skipped;
      (passed ? row.passed : skipped ? row.skipped : row.failed) += count;
    }
    // A submission of several students counts once.
    if (!seen_.insert(row.submission).second) return;
    for (const GradedItem& item : grading.items) {
      for (const GradedGroup& group : item.groups) {
        if (group.earned || group.asked() == 0) continue;
        const std::pair key(item.name, group.name);
        ++losing_[key];
        if (!group.lost_by.empty()) ++lost_by_[key][group.lost_by];
      }
    }
    std::set<std::pair<std::string, std::string>> made;  // forms of one mistake count once
    for (const GradedItem& item : grading.items) {
      const auto add = [&](const OverviewMistake& one) {
        const std::pair key(one.problem, one.mistake + one.unnamed);
        if (!made.insert(key).second) return;
        OverviewMistake& all = mistakes_.try_emplace(key, one).first->second;
        ++all.submissions;
        all.lost += item.lost();
        all.who.push_back(row.called());
      };
      for (const Diagnosis& diagnosis : item.diagnoses) {
        add({diagnosis.problem, same_mistake(diagnosis.problem, diagnosis.mistake)});
        for (const std::string& also : diagnosis.also) {
          add({diagnosis.problem, same_mistake(diagnosis.problem, also)});
        }
      }
      for (const std::string& problem : item.undiagnosed) {
        std::vector<std::string> sentences;
        for (const Property& property : item.properties) {
          if (property.problem == problem) sentences.push_back(property.sentence);
        }
        const auto clue = std::ranges::find(item.clues, problem, &Clue::problem);
        add({problem, "", 0,
             clue != item.clues.end() ? clue->heading
             : sentences.empty()      ? "no known mistake"
                                      : joined(sentences, "; ")});
      }
    }
  }

  void set_by_hand(OverviewRow& row) {
    const auto found = set_points_.find(row.submission);
    if (found == set_points_.end()) return;
    for (const SetPoints& set : found->second) {
      for (std::size_t i = 0; i < made_.items.size(); ++i) {
        if (made_.items[i].name != set.item) continue;
        row.points[i] = {set.points, true, row.points[i].graded, set.why};
      }
    }
  }

  std::vector<std::string> flags(const OverviewRow& row, const Entry* entry,
                                 const Grading& grading) {
    std::vector<std::string> all;
    if (row.absent) all.emplace_back("nothing handed in");
    if (!row.absent && !entry->failure.empty()) {
      all.push_back((row.graded ? "not graded anew: " : "not graded: ") + entry->failure);
    }
    if (row.not_gradeable()) all.emplace_back("not gradeable");
    if (row.not_asked > 0) all.push_back(grading.not_whole());
    if (grading.status != Status::passed) all.emplace_back(name(grading.status));
    if (statuses_[row.submission].contains(Status::sandbox_violation) &&
        grading.status != Status::sandbox_violation) {
      all.emplace_back(name(Status::sandbox_violation));
    }
    if (!grading.forbidden_calls.empty()) all.emplace_back("forbidden calls");
    if (row.graded && entry->exam != course_.exam) all.emplace_back("graded by an earlier rubric");
    if (row.graded && entry->limits != limits_) all.emplace_back("graded with other limits");
    if (row.graded && entry->regrade == Regrade::wanted) all.emplace_back("to be graded again");
    if (row.handed_in && row.outdated) {
      all.emplace_back("changed since the roster was stored");
    }
    if (std::ranges::any_of(row.points, &OverviewPoints::set_by_hand)) {
      all.emplace_back("set by hand");
    }
    return all;
  }

  std::string go_on() const {
    std::set<std::string> paths;  // several students may have handed in one
    for (const OverviewRow& row : made_.rows) {
      if (lacks_cases(row)) paths.insert(entries_.at(row.submission).path);
    }
    if (paths.empty()) return "";
    std::vector<std::string> words{program_name(), "grade"};
    words.insert(words.end(), paths.begin(), paths.end());
    words.insert(words.end(), {"--gradebook", book_.file().string(), "--budget",
                               fmt::format("{}", larger_budget_)});
    return shell_line(words);
  }

  void add_decisions() {
    for (const auto& [group, cases] : lost_by_) {
      for (const auto& [case_name, submissions] : cases) {
        if (submissions < 2) continue;
        made_.decisions.push_back(
            {group.first, group.second, case_name, submissions, losing_[group]});
      }
    }
    std::ranges::stable_sort(made_.decisions, std::greater{}, &OverviewDecision::submissions);
  }

  /// The mean, the median and the histogram of the totals that count.
  void add_totals() {
    made_.histogram.resize(bins);
    std::vector<double> totals;
    for (const OverviewRow& row : made_.rows) {
      if (row.counted) totals.push_back(row.total);
    }
    if (totals.empty()) return;
    for (const double total : totals) {
      const double part = made_.points > 0 ? total / made_.points : 1;
      // A sum of thirds may be just below its bin by a rounding error.
      const double bin = std::floor(part * static_cast<double>(bins) + 1e-9);
      ++made_.histogram[static_cast<std::size_t>(std::clamp(bin, 0.0, bins - 1.0))];
    }
    const std::size_t count = totals.size();
    made_.mean = std::accumulate(totals.begin(), totals.end(), 0.0) / static_cast<double>(count);
    std::ranges::sort(totals);
    made_.median = (totals[(count - 1) / 2] + totals[count / 2]) / 2;
  }

  const Gradebook& book_;
  Course course_;
  std::map<std::string, Entry> entries_;
  std::map<std::string, std::map<Status, std::int64_t>> statuses_;
  std::map<std::string, std::vector<SetPoints>> set_points_;
  std::string limits_;
  std::map<std::pair<std::string, std::string>, OverviewMistake>
      mistakes_;  // by problem, and what it is
  /// By item and group: how many lose it, and by which case alone.
  std::map<std::pair<std::string, std::string>, std::int64_t> losing_;
  std::map<std::pair<std::string, std::string>, std::map<std::string, std::int64_t>> lost_by_;
  double larger_budget_ = 0;
  std::set<std::string> seen_;  // submissions whose mistakes are counted
  Overview made_;
};

}  // namespace

bool has_total(const OverviewRow& row) {
  return row.has_points() || row.absent ||
         std::ranges::all_of(row.points, &OverviewPoints::set_by_hand);
}

bool lacks_cases(const OverviewRow& row) {
  return row.not_asked > 0 && !std::ranges::all_of(row.points, &OverviewPoints::set_by_hand);
}

std::optional<std::int64_t> days_late(const Overview& overview, const OverviewRow& row) {
  if (!overview.deadline || !row.handed_in) return std::nullopt;
  return days_late(*row.handed_in, *overview.deadline);
}

std::string late_text(const Overview& overview, const OverviewRow& row) {
  const auto late = days_late(overview, row);
  if (!late) return "";
  return std::to_string(*late) + (row.time_of_files ? " (by its files)" : "");
}

std::string decision_text(const OverviewDecision& decision) {
  return fmt::format("{}, {}: {} of {} submissions that lose this group pass all but {}",
                     printable(decision.item), printable(decision.group), decision.submissions,
                     decision.losing, printable(decision.case_name));
}

Overview overview(const Gradebook& book) { return OverviewMaker(book).make(); }

}  // namespace prenorm::harness
