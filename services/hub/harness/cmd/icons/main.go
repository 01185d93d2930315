// Command icons draws the console's icons as PNG files, after icon.svg, into the directory of its only argument. Run it
// in services/hub/harness with ../internal/page/assets after a change of the picture; a test compares the files.
package main

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"log"
	"math"
	"os"
	"path/filepath"
)

var (
	blue  = color.NRGBA{0x24, 0x56, 0xc9, 0xff}
	white = color.NRGBA{0xff, 0xff, 0xff, 0xff}
)

// icon is a picture of the bubble in a square. The bubble takes the share of its width; ground is the colour behind it,
// if it has one.
type icon struct {
	size         int
	share        float64
	ground       color.NRGBA
	bubble, line color.NRGBA
}

// icons are the files. A system cuts a maskable icon to its own form, and keeps the circle in its middle.
var icons = map[string]icon{
	"icon-192.png":          {size: 192, share: 1, bubble: blue, line: white},
	"icon-512.png":          {size: 512, share: 1, bubble: blue, line: white},
	"icon-maskable-512.png": {size: 512, share: 0.62, ground: blue, bubble: white, line: blue},
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: icons DIRECTORY")
	}
	for name, i := range icons {
		text, err := i.png()
		if err == nil {
			err = os.WriteFile(filepath.Join(os.Args[1], name), text, 0o644)
		}
		if err != nil {
			log.Fatal(fmt.Errorf("icons: %s: %w", name, err))
		}
	}
}

// samples is the number of points of a pixel, in each direction, whose mean is its colour.
const samples = 4

func (i icon) png() ([]byte, error) {
	picture := image.NewNRGBA(image.Rect(0, 0, i.size, i.size))
	for y := range i.size {
		for x := range i.size {
			picture.SetNRGBA(x, y, i.pixel(x, y))
		}
	}
	var b bytes.Buffer
	err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, picture)
	return b.Bytes(), err
}

func (i icon) pixel(x, y int) color.NRGBA {
	var r, g, b, a int
	for n := range samples * samples {
		at := func(pixel, sample int) float64 {
			part := (float64(pixel) + (float64(sample)+0.5)/samples) / float64(i.size)
			return ((part-0.5)/i.share + 0.5) * 32
		}
		c := i.at(at(x, n%samples), at(y, n/samples))
		r, g, b, a = r+int(c.R)*int(c.A), g+int(c.G)*int(c.A), b+int(c.B)*int(c.A), a+int(c.A)
	}
	if a == 0 {
		return color.NRGBA{}
	}
	return color.NRGBA{uint8(r / a), uint8(g / a), uint8(b / a), uint8(a / (samples * samples))}
}

// at returns the colour of a point, in the coordinates of icon.svg: a square of 32.
func (i icon) at(x, y float64) color.NRGBA {
	within := func(x0, y0, x1, y1 float64) bool { return x >= x0 && x < x1 && y >= y0 && y < y1 }
	switch {
	case within(8, 9, 24, 12) || within(8, 15, 18, 18):
		return i.line
	case rounded(x, y) || within(7, 23, 15, 30) && y-23 <= (15-x)*7/8:
		return i.bubble
	}
	return i.ground
}

// rounded reports whether a point is in the body of the bubble, whose corners have a radius of 3.
func rounded(x, y float64) bool {
	const left, top, right, bottom, radius = 2, 3, 30, 23, 3
	dx := math.Max(math.Max(left+radius-x, x-(right-radius)), 0)
	dy := math.Max(math.Max(top+radius-y, y-(bottom-radius)), 0)
	return dx*dx+dy*dy <= radius*radius
}
