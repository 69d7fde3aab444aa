#include "cli/language/compared_generation.h"

#include "cli/show/comparison_view.h"
#include "cli/support/failure.h"
#include "cli/support/progress.h"
#include "cli/support/text.h"

namespace opd::cli {

struct ComparedGeneration::Side {
  Program program;
  LanguageProgram language;
  Target target;
  Generation generation;

  explicit Side(const Args &args)
      : program(load_program(args.words()[0], args)),
        language(LanguageProgram::of(program, args)),
        target(program, language.decode.name, args),
        generation(language, target, args, [] { return opdyno::defaults(opd_call_options_init); }) {
    generation.begin();
  }
};

ComparedGeneration::ComparedGeneration(const Args &args) {
  Progress progress;
  const auto load = [&](const Args &of_program) {
    progress.stage(cat("loading ", of_program.words()[0]));
    return std::make_unique<Side>(of_program);
  };
  a_ = load(args.with_words({args.words()[0]}));
  b_ = load(args.of_b().with_words({args.words()[1]}));
  for (const auto function : {&LanguageProgram::prefill, &LanguageProgram::decode})
    if (const std::string &a = (a_->language.*function).name, &b = (b_->language.*function).name; a != b)
      fail_usage(cat("the programs' functions have different names, ", a, " and ", b,
                     "; name one by --prefill-function or --decode-function"));
  if (a_->generation.vocabulary() != b_->generation.vocabulary())
    fail_usage(cat("the programs have vocabularies of ", a_->generation.vocabulary(), " and ",
                   b_->generation.vocabulary(), " tokens"));
}

ComparedGeneration::~ComparedGeneration() = default;

ComparedPasses ComparedGeneration::compare(const std::function<opd_compare_options()> &options) {
  std::vector<LanguagePass> passes = a_->generation.prompt_passes();
  passes.insert(passes.end(), static_cast<size_t>(a_->generation.plan().decode), a_->generation.decoding_pass());
  ComparedPasses found{{}, 0, {}};
  for (Side *side : {a_.get(), b_.get()}) side->generation.restart();
  Progress progress;
  bool is_equal = true;
  for (size_t i = 0; i < passes.size() && is_equal; ++i) {
    found.pass = cat(passes[i].is_decoding ? "decoding" : "prefill", ", pass ", i + 1, " of ", passes.size());
    progress.stage(found.pass);
    a_->generation.with_pass(passes[i], [&](const LanguageFunction &function, const std::vector<Value> &a_args) {
      b_->generation.with_pass(passes[i], [&](const LanguageFunction &, const std::vector<Value> &b_args) {
        std::vector<opd_value> a_views, b_views;
        for (const Value &arg : a_args) a_views.push_back(arg.view());
        for (const Value &arg : b_args) b_views.push_back(arg.view());
        const Array of_b(b_views);
        opd_compare_options how = options();
        how.b_args = of_b.get();
        const auto compare = [&](int32_t repeat) {
          how.repeat = repeat;
          found.last = opdyno::compare(a_->target.vm(), b_->target.vm(), function.name.c_str(), a_views, &how);
          return ComparisonView(found.last.report);
        };
        const int32_t repeat = how.repeat;
        const bool is_last = i + 1 == passes.size();
        const ComparisonView seen = compare(is_last ? repeat : 0);
        is_equal = seen.is_equal();
        const bool is_last_after_all = !is_equal && !is_last && !seen.has_failure();
        if (is_last_after_all && repeat) compare(repeat);
      });
    });
    ++found.count;
  }
  return found;
}

}  // namespace opd::cli
