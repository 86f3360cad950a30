#include "s3/xml.h"

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

/// What is missing in a list counts as not there, and may be removed.
[[noreturn]] void throw_cut_off() {
  throw Damaged("the S3 server sent a part of a list, and does not say where it goes on");
}

}  // namespace

std::optional<S3Error> parse_error(std::span<const std::byte> xml) {
  pugi::xml_document document;
  if (xml.empty() || !document.load_buffer(xml.data(), xml.size())) return std::nullopt;
  const pugi::xml_node error = document.child("Error");
  if (!error) return std::nullopt;
  return S3Error{error.child_value("Code"), error.child_value("Message")};
}

ObjectPage parse_objects(std::span<const std::byte> xml) {
  pugi::xml_document document;
  load(document, xml, "ListBucketResult");
  const pugi::xml_node root = document.child("ListBucketResult");
  ObjectPage page;
  for (const pugi::xml_node& node : root.children("Contents")) {
    page.objects.push_back({node.child_value("Key"), node.child("Size").text().as_ullong(),
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
  UploadPage page;
  for (const pugi::xml_node& node : root.children("Upload")) {
    page.uploads.push_back({node.child_value("Key"), node.child_value("UploadId"),
                            parse_time(node.child_value("Initiated"))});
  }
  if (root.child("IsTruncated").text().as_bool()) {
    page.next_key = root.child_value("NextKeyMarker");
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
