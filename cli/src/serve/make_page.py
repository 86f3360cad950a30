"""Puts the page of flor serve together and into a C++ header.

make_page.py OUTPUT PAGE_DIRECTORY UPLOT_DIRECTORY SCRIPT...

The scripts become one, in the given order, behind uPlot; style and script become parts of the one
HTML file. Their SHA-256 goes into the header, too, for the Content-Security-Policy that allows them
and nothing else. Without UPLOT_DIRECTORY (empty) the header has an empty page.
"""

import base64
import hashlib
import pathlib
import sys

HEAD = """// Made by make_page.py.
#pragma once

#include <string_view>

namespace flor::cli {

"""


def source_hash(text):
    digest = hashlib.sha256(text.encode()).digest()
    return "sha256-" + base64.b64encode(digest).decode()


def literal(name, text):
    """A string of any length: pieces, as compilers limit a single one."""
    pieces = [text[i : i + 8000] for i in range(0, len(text), 8000)] or [""]
    lines = "\n".join('    R"florpage(%s)florpage"' % piece for piece in pieces)
    return "inline constexpr std::string_view %s =\n%s;\n" % (name, lines)


def build(page, uplot, scripts):
    html = (page / "index.html").read_text()
    style = (uplot / "dist/uPlot.min.css").read_text() + (page / "style.css").read_text()
    licence = (uplot / "LICENSE").read_text().strip()
    script = "/*! uPlot\n%s */\n" % licence
    script += (uplot / "dist/uPlot.iife.min.js").read_text()
    script += "\n(() => {\n'use strict';\n"
    script += "".join((page / name).read_text() for name in scripts)
    script += "})();\n"
    for part in (style, script):
        assert "</" + "script" not in part and "</" + "style" not in part, "ends its element"
    # Adds nothing between the tags and the text: the browser hashes exactly the text of the
    # element.
    html = html.replace("<!--flor:style-->", "<style>%s</style>" % style)
    html = html.replace("<!--flor:script-->", "<script>%s</script>" % script)
    return html, source_hash(script), source_hash(style)


def main():
    output, page, uplot, *scripts = sys.argv[1:]
    parts = build(pathlib.Path(page), pathlib.Path(uplot), scripts) if uplot else ("", "", "")
    names = ("kPage", "kScriptHash", "kStyleHash")
    text = HEAD + "".join(map(literal, names, parts)) + "\n}  // namespace flor::cli\n"
    pathlib.Path(output).write_text(text)


main()
