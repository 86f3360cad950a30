// The parts of S3 that need no real server: signatures, settings, XML, places, and answers that no
// server should give.
#include "remote/objects/s3/s3_objects.h"
#include "remote/objects/s3/s3_settings.h"
#include "remote/objects/s3/signature.h"
#include "remote/objects/s3/xml.h"
#include "remote/objects/sha256.h"
#include "scripted_server.h"
#include "support/temporary_directory.h"

#include <flor/store/error.h>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace flor::remote {
namespace {

using ::testing::HasSubstr;

/// The account, bucket and moment of the examples in the algorithm's description.
const Credentials kExample{"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", ""};
constexpr std::int64_t kExampleTime = std::int64_t{1369353600} * 1'000'000;  // 2013-05-24, midnight

std::string signature_of(Request request, std::string_view body = "") {
  request.headers["host"] = "examplebucket.s3.amazonaws.com";
  sign(request, kExample, "us-east-1", sha256_hex(body), kExampleTime);
  const std::string& value = request.headers.at("authorization");
  return value.substr(value.find("Signature=") + 10);
}

TEST(S3SignatureTest, TheExamplesOfTheAlgorithmComeOut) {
  EXPECT_EQ(signature_of({"GET", "/test.txt", {}, {{"range", "bytes=0-9"}}}),
            "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
  EXPECT_EQ(signature_of({"PUT",
                          "/test$file.text",
                          {},
                          {{"date", "Fri, 24 May 2013 00:00:00 GMT"},
                           {"x-amz-storage-class", "REDUCED_REDUNDANCY"}}},
                         "Welcome to Amazon S3."),
            "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
  EXPECT_EQ(signature_of({"GET", "/", {{"lifecycle", ""}}, {}}),
            "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
  EXPECT_EQ(signature_of({"GET", "/", {{"max-keys", "2"}, {"prefix", "J"}}, {}}),
            "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

TEST(S3SignatureTest, ASessionIsSignedWithItsToken) {
  Request request{"GET", "/", {}, {{"host", "h"}}};
  Credentials session = kExample;
  session.token = "token";
  sign(request, session, "us-east-1", sha256_hex(""), kExampleTime);
  EXPECT_EQ(request.headers.at("x-amz-security-token"), "token");
  EXPECT_THAT(request.headers.at("authorization"), HasSubstr("x-amz-security-token"));
}

TEST(S3SignatureTest, PathsAndParametersAreEncoded) {
  EXPECT_EQ(encode("a/b c~+ä", true), "a/b%20c~%2B%C3%A4");
  EXPECT_EQ(encode("a/b", false), "a%2Fb");
  EXPECT_EQ(encode(Parameters{{"uploads", ""}, {"prefix", "a b/"}}), "prefix=a%20b%2F&uploads=");
}

class S3SettingsTest : public ::testing::Test {
 protected:
  S3Settings find(std::string_view bucket = "bucket") {
    variables_.try_emplace("HOME", directory_.path().string());
    return find_settings(
        [this](const std::string& name) -> std::optional<std::string> {
          const auto found = variables_.find(name);
          if (found == variables_.end()) return std::nullopt;
          return found->second;
        },
        bucket);
  }
  void write(const char* name, const char* text) {
    std::filesystem::create_directories(directory_ / ".aws");
    std::ofstream(directory_ / ".aws" / name) << text;
  }
  testing::TemporaryDirectory directory_;
  std::map<std::string, std::string> variables_;
};

TEST_F(S3SettingsTest, VariablesSayWhoAndWhere) {
  variables_ = {{"AWS_ACCESS_KEY_ID", "key"},
                {"AWS_SECRET_ACCESS_KEY", "secret"},
                {"AWS_SESSION_TOKEN", "token"},
                {"AWS_DEFAULT_REGION", "eu-west-1"}};
  const S3Settings settings = find();
  EXPECT_EQ(settings.credentials.key, "key");
  EXPECT_EQ(settings.credentials.secret, "secret");
  EXPECT_EQ(settings.credentials.token, "token");
  EXPECT_EQ(settings.endpoint, "https://s3.eu-west-1.amazonaws.com");
  EXPECT_FALSE(settings.path_style);
  EXPECT_TRUE(find("with.dots").path_style);
  variables_["AWS_ENDPOINT_URL"] = "http://127.0.0.1:7480/";
  EXPECT_EQ(find().endpoint, "http://127.0.0.1:7480");
  EXPECT_TRUE(find().path_style);
}

TEST_F(S3SettingsTest, FilesSayWhatVariablesDoNot) {
  write("credentials",
        "# mine\n[default]\naws_access_key_id = k1\naws_secret_access_key=s1\n[lab]\n"
        "aws_access_key_id=k2\naws_secret_access_key=s2\naws_session_token=t2\n");
  write("config",
        "[default]\nregion = us-west-2\n[profile lab]\nregion=eu-central-1\nca_bundle = /ca.pem\n"
        "endpoint_url = https://s3.lab:9000\ns3 =\n  addressing_style = virtual\n");
  EXPECT_EQ(find().credentials.key, "k1");
  EXPECT_EQ(find().region, "us-west-2");
  variables_["AWS_PROFILE"] = "lab";
  const S3Settings lab = find();
  EXPECT_EQ(lab.credentials.secret, "s2");
  EXPECT_EQ(lab.credentials.token, "t2");
  EXPECT_EQ(lab.ca_bundle, "/ca.pem");
  EXPECT_EQ(lab.endpoint, "https://s3.lab:9000");
  EXPECT_FALSE(lab.path_style);
  // Never the key of the one with the secret of the other.
  variables_["AWS_ACCESS_KEY_ID"] = "alone";
  EXPECT_EQ(find().credentials.key, "k2");
}

TEST_F(S3SettingsTest, MissingCredentialsAreSaid) {
  EXPECT_THROW(find(), Error);
  write("credentials", "[default]\naws_access_key_id=k\naws_secret_access_key=s\n");
  variables_["AWS_PROFILE"] = "nobody";
  EXPECT_THROW(find(), Error);
}

/// What is thrown, which never has a secret in it.
std::string thrown(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), ::testing::Not(HasSubstr("hidden")));
    return error.what();
  }
  return "";
}

TEST_F(S3SettingsTest, WhatCannotBeIsRefusedAndNoSecretIsPrinted) {
  const std::map<std::string, std::string> good = {{"AWS_ACCESS_KEY_ID", "key"},
                                                   {"AWS_SECRET_ACCESS_KEY", "hidden"}};
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"AWS_ACCESS_KEY_ID", "key\r\nx-amz-acl: public-read"},
      {"AWS_SECRET_ACCESS_KEY", "hidden\n"},
      {"AWS_SESSION_TOKEN", "hidden token"},
      {"AWS_REGION", "eu west"},
      {"AWS_REGION", "eu-west-1\nHost: x"},
      {"AWS_MAX_ATTEMPTS", "many"},
      {"AWS_MAX_ATTEMPTS", "0"},
      {"AWS_ENDPOINT_URL", "localhost:9000"},
      {"AWS_ENDPOINT_URL", "https://"},
      {"AWS_ENDPOINT_URL", "https://user:hidden@host"},
      {"AWS_ENDPOINT_URL", "https://host?x=hidden"},
      {"AWS_ENDPOINT_URL", "http://a b"},
  };
  for (const auto& [name, value] : wrong) {
    variables_ = good;
    variables_[name] = value;
    EXPECT_NE(thrown([&] { find(); }), "") << name << " " << value;
  }
  variables_ = good;
  variables_["AWS_PROFILE"] = "";
  variables_["AWS_MAX_ATTEMPTS"] = "3";
  EXPECT_EQ(find().attempts, 3);
}

TEST_F(S3SettingsTest, HalfOfTheCredentialsAndOthersThanKeysAreSaid) {
  variables_ = {{"AWS_ACCESS_KEY_ID", "key"}};
  EXPECT_THAT(thrown([&] { find(); }), HasSubstr("AWS_SECRET_ACCESS_KEY is not"));
  variables_ = {{"AWS_SECRET_ACCESS_KEY", "hidden"}};
  EXPECT_THAT(thrown([&] { find(); }), HasSubstr("AWS_ACCESS_KEY_ID is not"));
  write("config", "[profile lab]\ncredential_process = /bin/keys\n[default]\nsso_session = x\n");
  variables_ = {{"AWS_PROFILE", "lab"}};
  EXPECT_THAT(thrown([&] { find(); }), HasSubstr("credential_process"));
  variables_.clear();
  EXPECT_THAT(thrown([&] { find(); }), HasSubstr("sso_session"));
}

TEST_F(S3SettingsTest, FilesMayBeNamedFromTheHomeDirectory) {
  write("mine", "[default]\naws_access_key_id=k\naws_secret_access_key=s\n");
  variables_ = {{"AWS_SHARED_CREDENTIALS_FILE", "~/.aws/mine"}, {"AWS_CONFIG_FILE", ""}};
  EXPECT_EQ(find().credentials.key, "k");
}

TEST(S3PlaceTest, PlacesAreParsed) {
  EXPECT_EQ(parse_s3_url("s3://bucket").prefix, "");
  EXPECT_EQ(parse_s3_url("s3://bucket/a/b/").prefix, "a/b/");
  EXPECT_EQ(parse_s3_url("s3://my.bucket-1//x").bucket, "my.bucket-1");
  EXPECT_EQ(
      open_s3(parse_s3_url("s3://bucket/a/"), {{"k", "s", ""}, "r", "http://h", "", true})->url(),
      "s3://bucket/a");
  for (const char* url : {"s3://", "s3:///key", "s3://Bucket/x", "s3://b", "https://bucket/x",
                          "s3://bucket/a/../b", "s3://bucket/./a", "s3://bucket/a//b"}) {
    EXPECT_THROW(parse_s3_url(url), UsageError) << url;
  }
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

TEST(S3XmlTest, ListsAndErrorsAreRead) {
  const ObjectPage page = parse_objects(bytes_of(
      "<?xml version=\"1.0\"?><ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
      "<IsTruncated>true</IsTruncated><NextContinuationToken>to&amp;ken</NextContinuationToken>"
      "<Contents><Key>a/1</Key><LastModified>2024-05-01T12:00:00.000Z</LastModified>"
      "<Size>5368709120</Size></Contents></ListBucketResult>"));
  ASSERT_EQ(page.objects.size(), 1U);
  EXPECT_EQ(page.objects[0].key, "a/1");
  EXPECT_EQ(page.objects[0].bytes, 5368709120U);
  EXPECT_EQ(page.objects[0].modified_us, std::int64_t{1714564800} * 1'000'000);
  EXPECT_EQ(page.next, "to&ken");
  EXPECT_THROW(parse_objects(bytes_of("<html>")), Damaged);
  EXPECT_EQ(parse_error(bytes_of("<Error><Code>SlowDown</Code></Error>"))->code, "SlowDown");
  EXPECT_FALSE(parse_error(bytes_of("")));
  EXPECT_EQ(print_parts({"\"a\""}),
            "<?xml version=\"1.0\"?><CompleteMultipartUpload><Part><PartNumber>1</PartNumber>"
            "<ETag>\"a\"</ETag></Part></CompleteMultipartUpload>");
}

TEST(S3XmlTest, KeysThatAreEncodedAreDecoded) {
  const ObjectPage page = parse_objects(bytes_of(
      "<ListBucketResult><EncodingType>url</EncodingType><Contents><Key>a%20b+c%2B%01%</Key>"
      "</Contents></ListBucketResult>"));
  ASSERT_EQ(page.objects.size(), 1U);
  EXPECT_EQ(page.objects[0].key, "a b c+\x01%");
  EXPECT_EQ(parse_objects(bytes_of("<ListBucketResult><Contents><Key>a%20+</Key></Contents>"
                                   "</ListBucketResult>"))
                .objects[0]
                .key,
            "a%20+");
}

TEST(S3XmlTest, APartOfAListThatDoesNotSayHowItGoesOnIsDamaged) {
  EXPECT_THROW(parse_objects(bytes_of("<ListBucketResult><IsTruncated>true</IsTruncated>"
                                      "<Contents><Key>a/1</Key></Contents></ListBucketResult>")),
               Damaged);
  EXPECT_THROW(parse_uploads(bytes_of("<ListMultipartUploadsResult><IsTruncated>true</IsTruncated>"
                                      "</ListMultipartUploadsResult>")),
               Damaged);
  EXPECT_EQ(parse_uploads(bytes_of("<ListMultipartUploadsResult><IsTruncated>true</IsTruncated>"
                                   "<NextKeyMarker>a</NextKeyMarker></ListMultipartUploadsResult>"))
                .next_key,
            "a");
}

/// Of servers that say what none should.
std::string message_of_list(const testing::ScriptedServer& server, const S3Limits& limits) {
  const S3Settings settings{{"KEY", "secret", ""}, "us-east-1", server.url(), "", true};
  try {
    open_s3({"bucket", "runs/"}, settings, limits)->list("");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(S3TroubleTest, AListThatNamesEverNewPagesEnds) {
  for (const bool empty : {true, false}) {
    const testing::ScriptedServer server([&](const std::string&, int number) {
      const std::string object =
          fmt::format("<Contents><Key>runs/{}</Key><Size>1</Size></Contents>", number);
      return testing::ScriptedServer::answer(
          "200 OK", fmt::format("<ListBucketResult>{}<IsTruncated>true</IsTruncated>"
                                "<NextContinuationToken>{}</NextContinuationToken>"
                                "</ListBucketResult>",
                                empty ? "" : object, number));
    });
    EXPECT_THAT(message_of_list(server, {}), HasSubstr("has no end"));
    EXPECT_LT(server.requests(), 2000);
  }
}

/// A bucket with these keys, in this order, that names 10 of them in an answer.
std::string page_of(const std::vector<std::string>& keys, const std::string& head, bool heeds_start) {
  const auto parameter = [&](const std::string& name) {
    const std::size_t at = head.find(name + "=");
    if (at == head.npos) return std::string();
    const std::size_t begin = at + name.size() + 1;
    std::string value = head.substr(begin, head.find_first_of("& ", begin) - begin);
    for (std::size_t slash; (slash = value.find("%2F")) != value.npos;) value.replace(slash, 3, "/");
    return value;
  };
  const std::string token = parameter("continuation-token"), after = parameter("start-after");
  std::size_t at = token.empty() ? 0 : std::stoul(token);
  while (token.empty() && heeds_start && at < keys.size() && keys[at] <= after) ++at;
  std::string body;
  for (const std::size_t end = std::min(at + 10, keys.size()); at < end; ++at) {
    body += fmt::format("<Contents><Key>{}</Key><Size>1</Size></Contents>", keys[at]);
  }
  const bool more = at < keys.size();
  body += fmt::format("<IsTruncated>{}</IsTruncated>", more);
  if (more) body += fmt::format("<NextContinuationToken>{}</NextContinuationToken>", at);
  return testing::ScriptedServer::answer("200 OK",
                                         "<ListBucketResult>" + body + "</ListBucketResult>");
}

TEST(S3ListTest, ALongListIsReadInPiecesAndHasEachKeyOnce) {
  std::mt19937 random(3);
  for (const std::size_t count : {0, 9, 10, 39, 40, 41, 50, 900}) {
    std::vector<std::string> sorted;
    for (std::size_t i = 0; i < count; ++i) {
      const char* forms[] = {"runs/runs/{:08x}", "runs/runs/{:x}", "runs/runs/-{:x}",
                             "runs/runs/z{:x}"};
      sorted.push_back(fmt::format(fmt::runtime(forms[i % 20 == 0 ? random() % 4 : 0]), random()));
    }
    for (const char* bound : {"runs/runs/5", "runs/runs/a", "runs/runs/f"}) {
      if (count > 40) sorted.emplace_back(bound);  // where a piece begins
    }
    std::ranges::sort(sorted);
    std::vector<std::string> disordered = sorted;
    std::shuffle(disordered.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(count, 45)),
                 disordered.end(), random);
    for (const bool heeds_start : {true, false}) {
      for (const auto& keys : {sorted, disordered}) {
        const testing::ScriptedServer server([&](const std::string& head, int) {
          return page_of(keys, head, heeds_start);
        });
        const S3Settings settings{{"KEY", "secret", ""}, "us-east-1", server.url(), "", true};
        std::vector<std::string> found;
        for (const ObjectInfo& object : open_s3({"bucket", "runs/"}, settings, {})->list("runs/")) {
          found.push_back("runs/" + object.key);
        }
        EXPECT_EQ(found, sorted) << count << (heeds_start ? "" : ", start-after is not heeded")
                                 << (keys == sorted ? "" : ", in no order");
      }
    }
  }
}

TEST(S3TroubleTest, TheRegionThatTheServerNamesIsNamed) {
  const testing::ScriptedServer server([](const std::string&, int) {
    return testing::ScriptedServer::answer(
        "400 Bad Request",
        "<Error><Code>AuthorizationHeaderMalformed</Code><Message>the region 'us-east-1' is wrong; "
        "expecting 'eu-central-1'</Message><Region>eu-central-1</Region></Error>");
  });
  EXPECT_THAT(message_of_list(server, {}), HasSubstr("set AWS_REGION=eu-central-1"));
  EXPECT_EQ(server.requests(), 1);
}

TEST(S3TroubleTest, AServerThatSaysNothingIsNotWaitedForAgainAndAgain) {
  const testing::ScriptedServer server([](const std::string&, int) { return std::string(); });
  S3Limits limits;
  limits.silence = std::chrono::seconds(1);
  limits.longest_wait = std::chrono::milliseconds(1500);
  EXPECT_THAT(message_of_list(server, limits), HasSubstr("(2 attempts in"));
}

TEST(S3PlaceTest, APrefixThatIsNotUtf8IsRefused) {
  EXPECT_EQ(parse_s3_url("s3://bucket/l\xc3\xa4uft/\xf0\x9f\x98\x80").prefix,
            "l\xc3\xa4uft/\xf0\x9f\x98\x80/");
  for (const char* prefix : {"\xff", "a\xc3", "\xc0\xaf", "\xe2\x82"}) {
    EXPECT_THROW(parse_s3_url(std::string("s3://bucket/") + prefix), UsageError);
  }
}

}  // namespace
}  // namespace flor::remote
