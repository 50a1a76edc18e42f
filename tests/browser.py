"""A real browser without a network: Debian's Chromium, installed where that is allowed."""

import base64
import contextlib
import os
import shutil
import subprocess

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")

# Decoded by the browser itself: for every box, the share of pixels that are not background, and how many have a colour.
_PIXELS = """
async ([png, boxes]) => {
  const bytes = Uint8Array.from(atob(png), (letter) => letter.charCodeAt(0));
  const bitmap = await createImageBitmap(new Blob([bytes], {type: "image/png"}));
  const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
  const context = canvas.getContext("2d");
  context.drawImage(bitmap, 0, 0);
  const back = context.getImageData(1, 1, 1, 1).data;
  return boxes.map((box) => {
    const data = context.getImageData(box.x, box.y, box.width, box.height).data;
    let drawn = 0, coloured = 0;
    for (let i = 0; i < data.length; i += 4) {
      const pixel = [data[i], data[i + 1], data[i + 2]];
      if (pixel.some((value, channel) => Math.abs(value - back[channel]) > 12)) drawn += 1;
      if (Math.max(...pixel) - Math.min(...pixel) > 60) coloured += 1;
    }
    return {drawn: drawn / (data.length / 4), coloured};
  });
}
"""


def chromium():
    """Return the path of Chromium; install Debian's where we may, and fail clearly where we may not."""
    for name in NAMES:
        if path := shutil.which(name):
            return path
    as_root = [] if hasattr(os, "getuid") and os.getuid() == 0 else ["sudo", "-n"]
    if shutil.which("apt-get") and (not as_root or shutil.which("sudo")):
        apt = [*as_root, "apt-get", "-qq", "-o", "DPkg::Lock::Timeout=300"]
        for command in (["update"], ["install", "-y", "chromium"]):
            subprocess.run([*apt, *command], capture_output=True, timeout=600, check=False)
    if path := shutil.which("chromium"):
        return path
    pytest.fail("the report has to be seen in a browser, and there is none: apt-get install chromium")


@contextlib.contextmanager
def browser():
    """Give a running Chromium."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        yield running
        running.close()


def pixels(running, png, boxes):
    """Return for each box of a screenshot the share of pixels that are drawn on, and how many have a colour."""
    page = running.new_page()
    try:
        return page.evaluate(_PIXELS, [base64.b64encode(png).decode(), boxes])
    finally:
        page.close()
