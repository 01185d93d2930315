// Command bell draws the pictures of notifications, which no browser takes as SVG: bell.png is the icon of
// services/hub/internal/page/assets/icon.svg, and bell-badge.png its outline in white, of which a phone shows the shape in
// its bar. Run it in services/hub/harness: go run ./cmd/bell
package main

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
)

const assets = "../internal/page/assets"

// edge is the size of the drawing that icon.svg describes.
const edge = 32.0

var (
	blue  = color.NRGBA{R: 0x24, G: 0x56, B: 0xc9, A: 0xff}
	white = color.NRGBA{R: 0xff, G: 0xff, B: 0xff, A: 0xff}
)

func main() {
	for name, text := range pictures() {
		if err := os.WriteFile(filepath.Join(assets, name), text, 0o644); err != nil {
			fmt.Fprintln(os.Stderr, "bell:", err)
			os.Exit(1)
		}
	}
}

// pictures returns the files by their names.
func pictures() map[string][]byte {
	return map[string][]byte{"bell.png": draw(192, blue, white), "bell-badge.png": draw(96, white, color.NRGBA{})}
}

// draw returns a picture of the bubble, with its lines in a colour of their own.
func draw(size int, bubble, lines color.NRGBA) []byte {
	const fine = 8 // points beside each other in a pixel
	img := image.NewNRGBA(image.Rect(0, 0, size, size))
	for y := range size {
		for x := range size {
			var in, on int
			for i := range fine * fine {
				px := (float64(x) + (float64(i%fine)+.5)/fine) * edge / float64(size)
				py := (float64(y) + (float64(i/fine)+.5)/fine) * edge / float64(size)
				switch {
				case inLines(px, py):
					on++
				case inBubble(px, py):
					in++
				}
			}
			img.SetNRGBA(x, y, mix(bubble, lines, in, on, fine*fine))
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		panic(err) // a buffer takes everything
	}
	return b.Bytes()
}

// mix returns the colour of a pixel of which in points are in the bubble and on points in a line.
func mix(bubble, lines color.NRGBA, in, on, all int) color.NRGBA {
	a, b := in*int(bubble.A), on*int(lines.A)
	if a+b == 0 {
		return color.NRGBA{}
	}
	part := func(x, y uint8) uint8 { return uint8((a*int(x) + b*int(y)) / (a + b)) }
	return color.NRGBA{R: part(bubble.R, lines.R), G: part(bubble.G, lines.G), B: part(bubble.B, lines.B),
		A: uint8((a + b) / all)}
}

func inLines(x, y float64) bool {
	return x >= 8 && (x < 24 && y >= 9 && y < 12 || x < 18 && y >= 15 && y < 18)
}

func inBubble(x, y float64) bool {
	if x >= 7 && x < 15 && y >= 23 && y < 30 && y-23 < 7*(15-x)/8 { // the tail
		return true
	}
	if x < 2 || x >= 30 || y < 3 || y >= 23 {
		return false
	}
	dx, dy := max(5-x, x-27, 0), max(6-y, y-20, 0)
	return dx*dx+dy*dy <= 9
}
