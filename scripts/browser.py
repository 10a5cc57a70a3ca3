"""A headless Chromium. SPDX-License-Identifier: MIT"""
import contextlib
import shutil
import sys


@contextlib.contextmanager
def chromium():
    """Yields Selenium's driver of a browser that keeps what its console says."""
    try:
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service
    except ImportError:
        sys.exit("there is no Selenium here; scripts/install-packages figures installs it")
    driver = shutil.which("chromedriver")
    if not driver:
        sys.exit("there is no Chromium with a driver here; scripts/install-packages figures installs it")
    options = webdriver.ChromeOptions()
    # Containers have no sandbox, and the pages are this project's own.
    for argument in "--headless=new", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage", "--no-sandbox":
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(options=options, service=Service(driver))
    try:
        browser.set_script_timeout(60)
        yield browser
    finally:
        browser.quit()
