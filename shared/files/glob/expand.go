package glob

import (
	"errors"
	"fmt"
	"strings"
)

var errBrace = errors.New(`has a "{" without its "}"; write [{] for the character itself`)

// expand returns the texts that a text with braces stands for. Their number and length are bounded.
func expand(text string) ([]string, error) {
	if !strings.ContainsAny(text, "{}") {
		return []string{text}, nil
	}
	texts := []string{""}
	for text != "" {
		options, rest, err := next(text)
		if err != nil {
			return nil, err
		}
		var longer []string
		size := 0
		for _, t := range texts {
			for _, o := range options {
				longer = append(longer, t+o)
				size += len(t) + len(o)
			}
		}
		if len(longer) > maxAlternatives || size > maxExpanded {
			return nil, fmt.Errorf("has braces that stand for more than %d patterns, or %d bytes in all; "+
				"reserve them one by one", maxAlternatives, maxExpanded)
		}
		texts, text = longer, rest
	}
	return texts, nil
}

// next returns the alternatives of the first part of a text, which is either a pair of braces or the text before one,
// and the rest of the text.
func next(text string) (options []string, rest string, err error) {
	if text[0] != '{' {
		end, err := plain(text)
		return []string{text[:end]}, text[end:], err
	}
	depth, begin := 0, 1
	for i := 0; i < len(text); {
		switch text[i] {
		case '{':
			depth++
		case '}':
			depth--
		case '[':
			n, err := endOfClass(text[i:])
			if err != nil {
				return nil, "", err
			}
			i += n
			continue
		}
		if depth == 0 || depth == 1 && text[i] == ',' {
			more, err := expand(text[begin:i])
			if err != nil {
				return nil, "", err
			}
			if options = append(options, more...); len(options) > maxAlternatives {
				return options, "", nil // the caller refuses them
			}
			begin = i + 1
		}
		i++
		if depth == 0 {
			return options, text[i:], nil
		}
	}
	return nil, "", errBrace
}

// plain returns the length of the text before the first brace.
func plain(text string) (int, error) {
	for i := 0; i < len(text); {
		switch text[i] {
		case '{':
			return i, nil
		case '}':
			return 0, errors.New(`has a "}" without its "{"; write [}] for the character itself`)
		case '[':
			n, err := endOfClass(text[i:])
			if err != nil {
				return 0, err
			}
			i += n
		default:
			i++
		}
	}
	return len(text), nil
}
