"""Writes a page of training runs, comparisons of codecs and plans: one HTML file that needs no network. It imports
nothing of crumb's, so that it also runs where libcrumb is not. SPDX-License-Identifier: MIT"""
