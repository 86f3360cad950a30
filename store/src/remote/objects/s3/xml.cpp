#include "remote/objects/s3/xml.h"

#include <flor/store/error.h>

#include <pugixml.hpp>

#include <cstring>
#include <ctime>
#include <sstream>

namespace flor::remote {
namespace {

void load(pugi::xml_document& document, std::span<const std::byte> xml, const char* root) {
  if (!document.load_buffer(xml.data(), xml.size()) || !document.child(root)) {
    throw Damaged(std::string("the S3 server sent something that is no ") + root);
  }
}

/// Throws for a partial list: an object missing in a list would count as absent, and might be
/// removed.
[[noreturn]] void throw_cut_off() {
  throw Damaged("the S3 server sent a part of a list, and does not say where it goes on");
}

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/// Decodes a percent-encoded text: "a%20b" and "a+b" are "a b".
std::string decoded(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const int high = i + 2 < text.size() ? digit(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? digit(text[i + 2]) : -1;
    if (text[i] == '%' && high >= 0 && low >= 0) {
      plain += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      plain += text[i] == '+' ? ' ' : text[i];
    }
  }
  return plain;
}

/// Reads keys. They may have characters that XML cannot represent; a server that was asked to
/// encode them says whether it did.
class Keys {
 public:
  explicit Keys(const pugi::xml_node& root)
      : encoded_(std::string_view(root.child_value("EncodingType")) == "url") {}
  std::string operator()(const pugi::xml_node& node, const char* name) const {
    return encoded_ ? decoded(node.child_value(name)) : node.child_value(name);
  }

 private:
  bool encoded_;
};

}  // namespace

std::optional<S3Error> parse_error(std::span<const std::byte> xml) {
  pugi::xml_document document;
  if (xml.empty() || !document.load_buffer(xml.data(), xml.size())) return std::nullopt;
  const pugi::xml_node error = document.child("Error");
  if (!error) return std::nullopt;
  return S3Error{error.child_value("Code"), error.child_value("Message"),
                 error.child_value("Region")};
}

ObjectPage parse_objects(std::span<const std::byte> xml) {
  pugi::xml_document document;
  load(document, xml, "ListBucketResult");
  const pugi::xml_node root = document.child("ListBucketResult");
  const Keys key_in(root);
  ObjectPage page;
  for (const pugi::xml_node& node : root.children("Contents")) {
    page.objects.push_back({key_in(node, "Key"), node.child("Size").text().as_ullong(),
                            parse_time(node.child_value("LastModified"))});
  }
  if (root.child("IsTruncated").text().as_bool()) {
    page.next = root.child_value("NextContinuationToken");
    if (page.next.empty()) throw_cut_off();
  }
  return page;
}

UploadPage parse_uploads(std::span<const std::byte> xml) {
  pugi::xml_document document;
  load(document, xml, "ListMultipartUploadsResult");
  const pugi::xml_node root = document.child("ListMultipartUploadsResult");
  const Keys key_in(root);
  UploadPage page;
  for (const pugi::xml_node& node : root.children("Upload")) {
    page.uploads.push_back({key_in(node, "Key"), node.child_value("UploadId"),
                            parse_time(node.child_value("Initiated"))});
  }
  if (root.child("IsTruncated").text().as_bool()) {
    page.next_key = key_in(root, "NextKeyMarker");
    page.next_id = root.child_value("NextUploadIdMarker");
    if (page.next_key.empty()) throw_cut_off();
  }
  return page;
}

std::string parse_upload_id(std::span<const std::byte> xml) {
  pugi::xml_document document;
  load(document, xml, "InitiateMultipartUploadResult");
  return document.child("InitiateMultipartUploadResult").child_value("UploadId");
}

std::string print_parts(const std::vector<std::string>& etags) {
  pugi::xml_document document;
  pugi::xml_node root = document.append_child("CompleteMultipartUpload");
  for (std::size_t i = 0; i < etags.size(); ++i) {
    pugi::xml_node part = root.append_child("Part");
    part.append_child("PartNumber").text() = static_cast<unsigned>(i + 1);
    part.append_child("ETag").text() = etags[i].c_str();
  }
  std::ostringstream text;
  document.save(text, "", pugi::format_raw);
  return text.str();
}

std::int64_t parse_time(std::string_view text) {
  std::tm parts{};
  const std::string copy(text);
  if (!::strptime(copy.c_str(), "%Y-%m-%dT%H:%M:%S", &parts)) return 0;
  return std::int64_t{::timegm(&parts)} * 1'000'000;
}

}  // namespace flor::remote
