#include "models/importers/shell.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <set>

namespace transload::importing {
namespace {

constexpr std::size_t kMostValue = 100'000;  // characters of a variable, words of a list

bool is_name_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

bool is_name(std::string_view text) {
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text[0])) == 0 &&
         std::all_of(text.begin(), text.end(), is_name_char);
}

// Sums and products of whole numbers without brackets: enough for GPUS_PER_NODE * NNODES.
std::optional<std::int64_t> arithmetic(std::string_view text) {
  constexpr std::int64_t kLimit = 1'000'000'000;
  std::int64_t sum = 0;
  std::int64_t term = 0;
  char operation = '+';
  std::size_t at = 0;
  const auto skip = [&] {
    while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at])) != 0) ++at;
  };
  while (true) {
    skip();
    std::int64_t number = 0;
    const auto [rest, error] = std::from_chars(text.data() + at, text.data() + text.size(), number);
    if (error != std::errc{} || number < 0 || number > kLimit) return std::nullopt;
    at = static_cast<std::size_t>(rest - text.data());
    if (operation == '/' && (number == 0 || term % number != 0)) return std::nullopt;
    if (operation == '*' || operation == '/') {
      term = operation == '*' ? term * number : term / number;
    } else {
      sum += term;
      term = operation == '-' ? -number : number;
    }
    if (term > kLimit || term < -kLimit) return std::nullopt;
    skip();
    if (at == text.size()) return sum + term;
    operation = text[at++];
    if (std::string_view("+-*/").find(operation) == std::string_view::npos) return std::nullopt;
  }
}

class Reader {
 public:
  Reader(const std::string& text, const std::string& file,
         std::map<std::string, std::string> variables, int first_line)
      : text_(text), file_(file), line_(first_line) {
    script_.variables = std::move(variables);
  }

  Script read() {
    while (at_ < text_.size()) read_command();
    return std::move(script_);
  }

 private:
  bool more() const { return at_ < text_.size(); }
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  char take() {
    const char c = text_[at_++];
    if (c == '\n') ++line_;
    return c;
  }

  // Blanks, continuation lines and comments; with `newlines` line ends too.
  void skip_blanks(bool newlines) {
    while (more()) {
      const char c = peek();
      if (c == ' ' || c == '\t' || c == '\r' || (newlines && c == '\n')) {
        take();
      } else if (c == '\\' && (peek(1) == '\n' || (peek(1) == '\r' && peek(2) == '\n'))) {
        while (take() != '\n') {
        }
      } else if (c == '#') {
        while (more() && peek() != '\n') take();
      } else {
        return;
      }
    }
  }

  bool at_separator() const {
    const char c = peek();
    // "2>&1" is a redirection, not the end of a command.
    return c == '\n' || c == ';' || c == '|' || (c == '&' && (at_ == 0 || text_[at_ - 1] != '>'));
  }

  void read_command() {
    Command command;
    while (true) {
      skip_blanks(false);
      if (!more()) break;
      if (at_separator()) {
        take();
        break;
      }
      if (command.line == 0) command.line = line_;
      if (read_assignment(command)) continue;
      for (Word& word : read_word(false)) command.words.push_back(std::move(word));
    }
    const bool exported = !command.words.empty() &&
                          (command.words[0].text == "export" || command.words[0].text == "local");
    if (command.words.empty() || exported)
      for (const auto& [name, value] : command.environment) assign(name, value);
    else
      script_.commands.push_back(std::move(command));
  }

  // NAME=value, NAME=( ... ), NAME+=( ... ) in front of the command's words.
  bool read_assignment(Command& command) {
    const bool first =
        command.words.empty() || (command.words.size() == 1 && command.words[0].text == "export");
    if (!first) return false;
    std::size_t end = at_;
    while (end < text_.size() && is_name_char(text_[end])) ++end;
    const bool append = end + 1 < text_.size() && text_[end] == '+' && text_[end + 1] == '=';
    const std::size_t equals = append ? end + 1 : end;
    if (equals >= text_.size() || text_[equals] != '=') return false;
    const std::string name = text_.substr(at_, end - at_);
    if (!is_name(name)) return false;
    at_ = equals + 1;
    if (peek() == '(') {
      read_array(name, append);
      return true;
    }
    std::string value;
    if (more() && !std::isspace(static_cast<unsigned char>(peek())) && !at_separator())
      value = read_word(true)[0].text;
    command.environment.emplace_back(name, std::move(value));
    return true;
  }

  void read_array(const std::string& name, bool append) {
    const int opened = line_;
    take();
    std::vector<Word> words;
    while (true) {
      skip_blanks(true);
      if (!more())
        throw InputError({file_, opened, name}, "the list never closes; is the file cut?");
      if (peek() == ')') {
        take();
        break;
      }
      const std::size_t before = at_;
      for (Word& word : read_word(false)) words.push_back(std::move(word));
      if (at_ == before) take();  // a separator, which ends no word of a list
      require_short(words.size(), name);
    }
    std::vector<Word>& array = script_.arrays[name];
    if (!append) array.clear();
    array.insert(array.end(), words.begin(), words.end());
    require_short(array.size(), name);
  }

  // Variables made of variables double with every line.
  void require_short(std::size_t length, const std::string& name) const {
    if (length > kMostValue)
      throw InputError({file_, line_, name}, "the value grows past what a launch script needs");
  }

  void assign(const std::string& name, const std::string& value) {
    require_short(value.size(), name);
    if (ambiguous_.contains(name)) return;
    const auto [entry, added] = script_.variables.try_emplace(name, value);
    if (added || entry->second == value) return;
    script_.variables.erase(entry);
    ambiguous_.insert(name);
  }

  // One word of the script: one or, after the expansion of an unquoted variable or an array, any
  // number of words. `whole`: exactly one, blanks of expansions kept (values of assignments).
  std::vector<Word> read_word(bool whole) {
    std::vector<Word> words;
    const int line = line_;
    std::string word;
    bool quoted = false;
    const auto finish = [&] {
      if (!word.empty() || quoted) words.push_back({word, line});
      word.clear();
      quoted = false;
    };
    while (more()) {
      const char c = peek();
      if (c == ' ' || c == '\t' || c == '\r' || at_separator() || c == ')') {
        if (c != ')' || word.find('(') == std::string::npos) break;
        word += take();
      } else if (c == '\\') {
        take();
        if (!more()) break;
        if (peek() == '\n') {
          take();
        } else {
          word += take();
        }
      } else if (c == '\'') {
        quoted = true;
        word += read_single_quoted();
      } else if (c == '"') {
        quoted = true;
        read_double_quoted(word, words, line);
      } else if (c == '$') {
        const Expansion expansion = read_expansion();
        if (expansion.array != nullptr && !whole) {
          finish();
          words.insert(words.end(), expansion.array->begin(), expansion.array->end());
        } else if (whole || expansion.literal) {
          word += expansion.text;
        } else {
          split_into(expansion.text, word, words, line);
        }
      } else {
        word += take();
      }
    }
    // A stray bracket would not be consumed otherwise.
    if (words.empty() && word.empty() && more() && peek() == ')') word += take();
    finish();
    if (whole && words.empty()) words.push_back({"", line});
    return words;
  }

  static void split_into(const std::string& text, std::string& word, std::vector<Word>& words,
                         int line) {
    for (const char c : text) {
      if (std::isspace(static_cast<unsigned char>(c)) == 0) {
        word += c;
      } else if (!word.empty()) {
        words.push_back({word, line});
        word.clear();
      }
    }
  }

  std::string read_single_quoted() {
    const int opened = line_;
    take();
    std::string text;
    while (more() && peek() != '\'') text += take();
    if (!more()) throw InputError({file_, opened, ""}, "the quote never closes; is the file cut?");
    take();
    return text;
  }

  void read_double_quoted(std::string& word, std::vector<Word>& words, int line) {
    const int opened = line_;
    take();
    while (more() && peek() != '"') {
      if (peek() == '\\' &&
          (peek(1) == '"' || peek(1) == '\\' || peek(1) == '$' || peek(1) == '\n')) {
        take();
        const char escaped = take();
        if (escaped != '\n') word += escaped;
      } else if (peek() == '$') {
        const Expansion expansion = read_expansion();
        if (expansion.array != nullptr) {
          if (!word.empty()) words.push_back({word, line});
          word.clear();
          words.insert(words.end(), expansion.array->begin(), expansion.array->end());
        } else {
          word += expansion.text;
        }
      } else {
        word += take();
      }
    }
    if (!more()) throw InputError({file_, opened, ""}, "the quote never closes; is the file cut?");
    take();
  }

  struct Expansion {
    std::string text;
    bool literal = false;  // kept as written
    const std::vector<Word>* array = nullptr;
  };

  // From the dollar sign on.
  Expansion read_expansion() {
    const std::size_t start = at_;
    take();
    if (peek() == '(') return read_parenthesis(start);
    if (peek() == '{') return read_brace(start);
    std::size_t end = at_;
    while (end < text_.size() && is_name_char(text_[end])) ++end;
    const std::string name = text_.substr(at_, end - at_);
    at_ = end;
    return lookup(name, text_.substr(start, end - start));
  }

  Expansion lookup(const std::string& name, const std::string& written) const {
    const auto found = script_.variables.find(name);
    if (found == script_.variables.end()) return {written, true, nullptr};
    return {found->second, false, nullptr};
  }

  // $(command), $((arithmetic)), and $(NAME) of Kubernetes.
  Expansion read_parenthesis(std::size_t start) {
    int depth = 0;
    while (more()) {
      const char c = take();
      if (c == '(') ++depth;
      if (c == ')' && --depth == 0) break;
    }
    const std::string written = text_.substr(start, at_ - start);
    if (written.starts_with("$((") && written.ends_with("))")) {
      const auto value = arithmetic(expand_names(written.substr(3, written.size() - 5)));
      if (value) return {std::to_string(*value), false, nullptr};
    }
    if (written.size() > 3 && is_name(std::string_view(written).substr(2, written.size() - 3)))
      return lookup(written.substr(2, written.size() - 3), written);
    return {written, true, nullptr};
  }

  // Inside $(( )) variables stand with or without a dollar sign.
  std::string expand_names(const std::string& text) const {
    std::string result;
    for (std::size_t i = 0; i < text.size();) {
      if (!is_name_char(text[i]) || std::isdigit(static_cast<unsigned char>(text[i])) != 0) {
        if (text[i] != '$' && text[i] != '{' && text[i] != '}') result += text[i];
        ++i;
        continue;
      }
      std::size_t end = i;
      while (end < text.size() && is_name_char(text[end])) ++end;
      const auto found = script_.variables.find(text.substr(i, end - i));
      result += found == script_.variables.end() ? "?" : found->second;
      i = end;
    }
    return result;
  }

  // ${NAME}, ${NAME:-default}, ${NAME[@]}; other operators stay as written.
  Expansion read_brace(std::size_t start) {
    int depth = 0;
    while (more()) {
      const char c = take();
      if (c == '{') ++depth;
      if (c == '}' && --depth == 0) break;
    }
    const std::string written = text_.substr(start, at_ - start);
    if (!written.ends_with("}")) return {written, true, nullptr};
    const std::string inside = written.substr(2, written.size() - 3);
    std::size_t end = 0;
    while (end < inside.size() && is_name_char(inside[end])) ++end;
    const std::string name = inside.substr(0, end);
    const std::string operation = inside.substr(end);
    if (operation.empty()) return lookup(name, written);
    if (operation == "[@]" || operation == "[*]") {
      const auto found = script_.arrays.find(name);
      if (found != script_.arrays.end()) return {"", false, &found->second};
      return {written, true, nullptr};
    }
    if (!operation.starts_with(":-") && operation[0] != '-') return {written, true, nullptr};
    if (script_.variables.contains(name)) return lookup(name, written);
    if (ambiguous_.contains(name)) return {written, true, nullptr};
    std::string value = operation.substr(operation[0] == ':' ? 2 : 1);
    if (value.size() >= 2 && (value[0] == '"' || value[0] == '\'') && value.back() == value[0])
      value = value.substr(1, value.size() - 2);
    if (value.find('$') != std::string::npos) return {written, true, nullptr};
    const std::string note = name + ": " + value;
    std::vector<std::string>& notes = script_.defaults_taken;
    if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
    return {value, false, nullptr};
  }

  const std::string& text_;
  const std::string& file_;
  std::size_t at_ = 0;
  int line_ = 1;
  Script script_;
  std::set<std::string> ambiguous_;
};

}  // namespace

Script read_script(const std::string& text, const std::string& file,
                   std::map<std::string, std::string> variables, int first_line) {
  return Reader(text, file, std::move(variables), first_line).read();
}

}  // namespace transload::importing
