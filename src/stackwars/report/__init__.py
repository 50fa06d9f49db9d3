"""The report: one self-contained HTML file with the raw calls, ratios, programs, profiles and claims of a run.

It reads the tables of a folder of results, the cells, profiles and programs that they are made from, and the
audits, and writes report.html. It opens from disk: nothing is fetched. What it shows is gathered and packed
here; the page in `page/` draws it, a script for each view.

Plots are inline SVG without a library. All six kinds (calls, memory, ratios, heat map, timeline, graph) are
26 kB of script. uPlot 1.6.32 is 51 kB (22 kB packed), draws two or three of the kinds, and on a canvas: no
title or link on a point, no vector in print, no text that a search or a screen reader finds. Plotly's
smallest bundle (basic, 4.1.1) is 1.19 MB, and Vega with Vega-Lite and its embedding (6.4.0, 6.4.3, 7.3.0)
0.83 MB; the whole report of the reference is 2.0 MB.
"""
