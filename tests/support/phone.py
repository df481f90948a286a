"""What is wrong with an open page on a phone: it scrolls sideways, is cut off, cannot be hit."""

from __future__ import annotations

from typing import Any

from tests.support.full_board import settle

PHONE = (390, 844)  # pixels
#: What is wider than the window, what a box of its own cuts off, and what is too small to hit.
_WRONG = """() => {
  const main = document.querySelector('[data-testid="stMain"]'), found = []
  const told = (what, one) => found.push(
    `${what}: <${one.tagName.toLowerCase()}> ${one.textContent.trim().slice(0, 60)}`)
  const all = name => [...main.querySelectorAll(name)].filter(one => one.checkVisibility())
  if (document.documentElement.scrollWidth > innerWidth) found.push('the document scrolls')
  if (main.scrollWidth > main.clientWidth) found.push('the page scrolls')
  const texts = 'h1, h2, h3, h4, h5, h6, button, [data-testid="stPageLink"] a, '
    + '[data-testid="stMetric"], [data-testid="stMarkdownBadge"]'
  for (const one of all(texts)) {
    const box = one.getBoundingClientRect()
    if (box.width > 1 && (box.left < -1 || box.right > innerWidth + 1)) told('outside', one)
    for (const part of [one, ...one.querySelectorAll('*')]) {
      const look = getComputedStyle(part)
      if (part.clientWidth > 1 && look.overflowX !== 'visible' && look.display !== 'inline'
          && part.scrollWidth > part.clientWidth + 1) told('cut off', part)
    }
  }
  const targets = 'a[href], [data-testid^="stBaseButton"], [role="radio"], summary'
  for (const one of all(targets)) {
    const box = one.getBoundingClientRect(), line = one.closest('p, li, h1, h2, h3, h4, h5, h6')
    const inText = line && line.textContent.trim() !== one.textContent.trim()
    if (box.width > 1 && !inText && Math.min(box.width, box.height) < 23.5)
      told(`only ${Math.round(box.width)} x ${Math.round(box.height)}`, one)
  }
  return [...new Set(found)]
}"""


def faults_on_phone(tab: Any) -> list[str]:
    """A line for each fault of the page once the window is as narrow as a phone; it is widened
    again afterwards."""
    size = tab.viewport_size
    tab.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    settle(tab)
    faults = tab.evaluate(_WRONG)
    tab.set_viewport_size(size)
    return faults
