#include "filigree/text/spell_out.h"

#include <unicode/datefmt.h>
#include <unicode/rbnf.h>
#include <unicode/timezone.h>

#include "filigree/base/error.h"

namespace filigree::text {
namespace {

// One spelling for each word. ICU's German number rules put soft hyphens between the parts of a
// word; its Romanian ones write ş and ţ with a cedilla, which today's Romanian, and ICU's own
// dates, write with a comma below; newer versions put special spaces into dates.
std::string clean(const icu::UnicodeString& text) {
  icu::UnicodeString cleaned;
  for (int32_t i = 0; i < text.length(); ++i) {
    switch (const char16_t unit = text[i]) {
      case u'\u00AD':
        break;
      case u'\u00A0':
      case u'\u202F':
        cleaned += u' ';
        break;
      case u'\u015E':
        cleaned += u'\u0218';
        break;
      case u'\u015F':
        cleaned += u'\u0219';
        break;
      case u'\u0162':
        cleaned += u'\u021A';
        break;
      case u'\u0163':
        cleaned += u'\u021B';
        break;
      default:
        cleaned += unit;
    }
  }
  std::string utf8;
  return cleaned.toUTF8String(utf8);
}

}  // namespace

struct SpellOut::Rules {
  std::unique_ptr<icu::RuleBasedNumberFormat> numbers;
  std::unique_ptr<icu::DateFormat> dates;
};

SpellOut::SpellOut(const std::string& language) : rules_(std::make_unique<Rules>()) {
  const icu::Locale locale(language.c_str());
  UErrorCode status = U_ZERO_ERROR;
  rules_->numbers =
      std::make_unique<icu::RuleBasedNumberFormat>(icu::URBNF_SPELLOUT, locale, status);
  rules_->dates.reset(icu::DateFormat::createDateInstance(icu::DateFormat::kFull, locale));
  // ICU falls back to the rules of its root for a language that it does not know.
  if (U_FAILURE(status) || !rules_->dates ||
      rules_->numbers->getLocale(ULOC_VALID_LOCALE, status).getLanguage() != language) {
    throw Error("ICU has no rules for the language '{}'", language);
  }
  rules_->dates->setTimeZone(*icu::TimeZone::getGMT());
}

SpellOut::~SpellOut() = default;

std::string SpellOut::number(int64_t value) const {
  icu::UnicodeString text;
  rules_->numbers->format(value, text);
  return clean(text);
}

std::string SpellOut::date(int64_t day) const {
  icu::UnicodeString text;
  rules_->dates->format(static_cast<UDate>(day) * 86'400'000.0, text);
  return clean(text);
}

}  // namespace filigree::text
