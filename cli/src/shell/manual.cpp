#include "shell/manual.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace flor::cli {
namespace {

/// Escapes a text so that troff prints it as it is.
std::string plain(std::string_view text) {
  std::string escaped;
  bool line_begins = true;
  for (const char c : text) {
    if (line_begins && (c == '.' || c == '\'')) escaped += "\\&";
    line_begins = c == '\n';
    switch (c) {
      case '\\':
        escaped += "\\e";
        break;
      case '-':
        escaped += "\\-";
        break;
      case '~':
        escaped += "\\(ti";
        break;
      case '^':
        escaped += "\\(ha";
        break;
      case '`':
        escaped += "\\(ga";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string page_title(std::string_view name, const std::string& version) {
  std::string upper(name);
  std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return std::toupper(c); });
  return fmt::format(".TH \"{}\" \"1\" \"\" \"flor {}\" \"Flor\"\n", plain(upper), plain(version));
}

/// Fills paragraphs; lines below a line that ends with ':' (examples) are kept as they are.
std::string running_text(std::string_view text) {
  std::string result;
  bool as_it_is = false, between = true;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const bool indented = line.starts_with(' ');
    if (line.empty()) {
      if (as_it_is) result += "\n";
      between = true;
      continue;
    }
    if (indented != as_it_is) {
      result += indented ? ".PP\n.nf\n" : ".fi\n.PP\n";
      as_it_is = indented;
    } else if (between && !as_it_is) {
      result += ".PP\n";
    }
    between = false;
    result += plain(line) + "\n";
  }
  if (as_it_is) result += ".fi\n";
  return result;
}

std::string options(std::string_view heading, const std::vector<Syntax::Entry>& entries,
                    bool operands) {
  std::string text;
  for (const Syntax::Entry& entry : entries) {
    if (entry.operand != operands) continue;
    if (text.empty()) text = fmt::format(".SH {}\n", heading);
    const std::size_t begin = std::min(entry.left.find_first_not_of(' '), entry.left.size());
    text += fmt::format(".TP\n\\fB{}\\fR\n{}\n", plain(entry.left.substr(begin)),
                        plain(entry.help.empty() ? entry.left : entry.help));
  }
  return text;
}

std::string page_of(const CommandPage& command, const Pages& pages, const std::string& version) {
  std::string text = page_title("flor-" + command.name, version);
  text += fmt::format(".SH NAME\nflor\\-{} \\- {}\n", plain(command.name), plain(command.summary));
  text +=
      fmt::format(".SH SYNOPSIS\n\\fBflor {}\\fR {}\n", plain(command.name), plain(command.usage));
  for (const std::string& alias : command.aliases) {
    text += fmt::format(".br\n\\fBflor {}\\fR {}\n", plain(alias), plain(command.usage));
  }
  text += ".SH DESCRIPTION\n" + running_text(command.lesson);
  text += options("OPERANDS", command.entries, true);
  text += options("OPTIONS", command.entries, false);
  text += options("OPTIONS OF EVERY COMMAND", pages.global, false);
  return text + ".SH SEE ALSO\n\\fBflor\\fR(1)\n";
}

std::string overview(const Pages& pages, const std::string& version) {
  std::string text = page_title("flor", version);
  text += ".SH NAME\nflor \\- look at recorded trainings, and ask them for values they did not log\n";
  text += ".SH SYNOPSIS\n\\fBflor\\fR [OPTIONS] COMMAND ...\n";
  text += ".SH DESCRIPTION\n" + running_text(pages.introduction);
  text += ".SH COMMANDS\n";
  std::string group;
  for (const CommandPage& command : pages.commands) {
    if (command.group != group) text += fmt::format(".SS {}\n", plain(command.group));
    group = command.group;
    text += fmt::format(".TP\n\\fBflor {}\\fR\n{}, see \\fBflor\\-{}\\fR(1)\n", plain(command.name),
                        plain(command.summary), plain(command.name));
  }
  text += options("OPTIONS OF EVERY COMMAND", pages.global, false);
  text +=
      ".SH ENVIRONMENT\n.TP\n\\fBFLOR_HOME\\fR\nthe store, unless \\fB\\-\\-home\\fR says "
      "otherwise\n";
  return text;
}

}  // namespace

std::map<std::string, std::string> manual(const Pages& pages, const std::string& version) {
  std::map<std::string, std::string> files{{"flor.1", overview(pages, version)}};
  for (const CommandPage& command : pages.commands) {
    files["flor-" + command.name + ".1"] = page_of(command, pages, version);
  }
  return files;
}

}  // namespace flor::cli
