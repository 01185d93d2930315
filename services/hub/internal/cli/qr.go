package cli

import (
	"fmt"
	"strings"

	"rsc.io/qr"
)

// qrCode draws a text as a QR code of half blocks, two dots high. The colours are set, because a phone reads dark dots on
// a light ground best, and many terminals are dark.
func qrCode(text string) (string, error) {
	const (
		quiet = 2 // the light margin, in dots; phones manage with less than the four of the standard
		begin = "\x1b[30;107m"
		end   = "\x1b[0m\n"
	)
	code, err := qr.Encode(text, qr.L)
	if err != nil {
		return "", fmt.Errorf("cannot draw the link as a QR code: %w", err)
	}
	var b strings.Builder
	for y := -quiet; y < code.Size+quiet; y += 2 {
		b.WriteString(begin)
		for x := -quiet; x < code.Size+quiet; x++ {
			// Black is false outside the code.
			switch above, below := code.Black(x, y), code.Black(x, y+1); {
			case above && below:
				b.WriteString("█")
			case above:
				b.WriteString("▀")
			case below:
				b.WriteString("▄")
			default:
				b.WriteString(" ")
			}
		}
		b.WriteString(end)
	}
	return b.String(), nil
}
