package bench

import (
	"fmt"
	"html"
	"io"
	"math"
	"slices"
	"strings"
)

// The chart's measures, in its own units.
const (
	chartWidth, chartHeight = 860, 520
	plotLeft, plotRight     = 76, 606
	plotTop, plotBottom     = 84, 448
)

// chartStyle gives every colour twice, for a light and a dark page.
const chartStyle = `<style>
  svg { --page: #ffffff; --ink: #1f2430; --soft: #5b6475; --grid: #e3e6ec;
        --c0: #b3261e; --c1: #b25e00; --c2: #6a4fb3; --c3: #00708a; --c4: #1a7f37; }
  @media (prefers-color-scheme: dark) {
    svg { --page: #14171d; --ink: #e8eaf0; --soft: #a3abba; --grid: #2c323d;
          --c0: #ff8a80; --c1: #ffb35c; --c2: #b9a3ff; --c3: #5cd0e6; --c4: #6fdc8c; }
  }
  text { font: 13px system-ui, "Segoe UI", Helvetica, Arial, sans-serif; fill: var(--ink); }
  .title { font-size: 18px; font-weight: 600; } .soft, .tick { fill: var(--soft); } .tick { font-size: 12px; }
  .grid { stroke: var(--grid); stroke-width: 1; } .axis { stroke: var(--soft); stroke-width: 1; }
  .line { fill: none; stroke-width: 2.25; stroke-linejoin: round; } .dot { stroke: var(--page); stroke-width: 1.5; }
</style>
`

// chart is a drawing under way: the ranges of its two logarithmic axes, as powers
// of ten.
type chart struct {
	strings.Builder
	left, right, bottom, top float64
}

// WriteChart draws the time of each way over the number of memories, both on a
// logarithmic scale, as an SVG picture.
func (r ListReport) WriteChart(to io.Writer) error {
	c := chart{left: math.Inf(1), right: math.Inf(-1), bottom: math.Inf(1), top: math.Inf(-1)}
	for _, row := range r.Rows {
		x, y := math.Log10(float64(row.Memories)), math.Log10(max(row.P50, 0.001))
		c.left, c.right = min(c.left, x), max(c.right, x)
		c.bottom, c.top = min(c.bottom, math.Floor(y)), max(c.top, math.Ceil(y))
	}
	if c.right == c.left {
		c.right++
	}
	c.frame(r)
	c.axes()
	c.lines(r)
	c.WriteString("</svg>\n")
	_, err := io.WriteString(to, c.String())
	return err
}

func (c *chart) printf(format string, args ...any) { fmt.Fprintf(c, format, args...) }

func (c *chart) text(x, y float64, class, anchor, text string) {
	c.printf(`<text x="%.1f" y="%.1f" class="%s" text-anchor="%s">%s</text>`+"\n", x, y, class, anchor, html.EscapeString(text))
}

func (c *chart) frame(r ListReport) {
	const title = "What it costs to list everything an agent knows"
	c.printf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-label="%s">`+"\n", chartWidth, chartHeight, title)
	c.WriteString(chartStyle)
	c.printf(`<rect width="%d" height="%d" fill="var(--page)"/>`+"\n", chartWidth, chartHeight)
	c.text(plotLeft, 34, "title", "start", title)
	c.text(plotLeft, 58, "soft", "start", fmt.Sprintf("Median time by number of memories of %d bytes each, %s store; both scales logarithmic", r.ContentBytes, r.Store))
}

func (c *chart) x(memories float64) float64 {
	return plotLeft + (math.Log10(memories)-c.left)/(c.right-c.left)*(plotRight-plotLeft)
}

func (c *chart) y(milliseconds float64) float64 {
	at := (math.Log10(max(milliseconds, 0.001)) - c.bottom) / (c.top - c.bottom)
	return plotBottom - at*(plotBottom-plotTop)
}

func (c *chart) axes() {
	for p := c.bottom; p <= c.top; p++ {
		y := c.y(math.Pow(10, p))
		c.printf(`<line class="grid" x1="%d" x2="%d" y1="%.1f" y2="%.1f"/>`+"\n", plotLeft, plotRight, y, y)
		c.text(plotLeft-10, y+4, "tick", "end", duration(math.Pow(10, p)))
	}
	for p := math.Ceil(c.left); p <= c.right; p++ {
		x := c.x(math.Pow(10, p))
		c.printf(`<line class="grid" x1="%.1f" x2="%.1f" y1="%d" y2="%d"/>`+"\n", x, x, plotTop, plotBottom)
		c.text(x, plotBottom+20, "tick", "middle", thousands(int(math.Pow(10, p))))
	}
	c.printf(`<line class="axis" x1="%d" x2="%d" y1="%d" y2="%d"/>`+"\n", plotLeft, plotRight, plotBottom, plotBottom)
	c.text((plotLeft+plotRight)/2, plotBottom+46, "soft", "middle", "memories on file")
	c.printf(`<text class="soft" text-anchor="middle" transform="translate(18 %d) rotate(-90)">time until the list is there</text>`+"\n", (plotTop+plotBottom)/2)
}

// lines draws each way and names it at the height of its last point, apart from
// its neighbours.
func (c *chart) lines(r ListReport) {
	labelAt := math.Inf(-1)
	for i, way := range c.ways(r) {
		rows := slices.DeleteFunc(slices.Clone(r.Rows), func(row ListRow) bool { return row.Way != way })
		var points []string
		for _, row := range rows {
			points = append(points, fmt.Sprintf("%.1f,%.1f", c.x(float64(row.Memories)), c.y(row.P50)))
		}
		colour := fmt.Sprintf("var(--c%d)", slices.Index(Ways(), way))
		c.printf(`<polyline class="line" stroke="%s" points="%s"/>`+"\n", colour, strings.Join(points, " "))
		for _, p := range points {
			x, y, _ := strings.Cut(p, ",")
			c.printf(`<circle class="dot" cx="%s" cy="%s" r="4.5" fill="%s"/>`+"\n", x, y, colour)
		}
		last := rows[len(rows)-1]
		y := c.y(last.P50)
		if i > 0 {
			y = max(y, labelAt+38)
		}
		labelAt = y
		c.printf(`<line x1="%d" x2="%d" y1="%.1f" y2="%.1f" stroke="%s" stroke-width="2.25"/>`+"\n", plotRight+14, plotRight+32, y, y, colour)
		c.text(plotRight+38, y+4, "", "start", string(way))
		c.text(plotRight+38, y+20, "tick", "start", fmt.Sprintf("%s, %s read", duration(last.P50), plural(last.Reads)))
	}
}

// ways are those that were measured, the slowest at last first.
func (c *chart) ways(r ListReport) []Way {
	last := r.Rows[len(r.Rows)-1].Memories
	ways := slices.DeleteFunc(Ways(), func(w Way) bool { return r.Row(w, last).Runs == 0 })
	slices.SortStableFunc(ways, func(a, b Way) int {
		if r.Row(a, last).P50 > r.Row(b, last).P50 {
			return -1
		}
		return 1
	})
	return ways
}

// duration is a time in its usual unit, such as "2.1 ms".
func duration(milliseconds float64) string {
	switch {
	case milliseconds >= 1000:
		return trim(milliseconds/1000) + " s"
	case milliseconds >= 1:
		return trim(milliseconds) + " ms"
	}
	return trim(milliseconds*1000) + " µs"
}

func trim(v float64) string {
	if v >= 10 || v == math.Trunc(v) {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.1f", v)
}

func plural(documents int) string {
	if documents == 1 {
		return "1 document"
	}
	return thousands(documents) + " documents"
}

// thousands is a number with commas.
func thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
