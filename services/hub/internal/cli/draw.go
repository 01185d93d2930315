package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"parley.internal/shared/overview"
	"parley.internal/shared/signal"
	"parley.internal/shared/task"
)

// clean makes one line of a text that somebody else wrote, and lets nothing through
// that could steer a terminal: white space becomes a space, what cannot be printed
// becomes U+FFFD. Every text of the server goes through it before it is shown.
func clean(s string) string {
	var b strings.Builder
	space := false // a fold was written last
	for _, r := range s {
		switch {
		case r == ' ' || unicode.IsPrint(r):
			b.WriteRune(r)
			space = r == ' '
		case unicode.IsSpace(r):
			if !space {
				b.WriteByte(' ')
			}
			space = true
		default:
			b.WriteRune(utf8.RuneError)
			space = false
		}
	}
	return b.String()
}

// cleanJSON is a JSON value in one line, its unprintable characters escaped.
func cleanJSON(raw json.RawMessage) (string, error) {
	var one bytes.Buffer
	if err := json.Compact(&one, raw); err != nil {
		return "", err
	}
	var b strings.Builder
	for _, r := range one.String() {
		switch {
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String(), nil
}

// wide are the characters that take two columns.
var wide = &unicode.RangeTable{R16: []unicode.Range16{{0x1100, 0x115f, 1}, {0x231a, 0x231b, 1}, {0x2329, 0x232a, 1}, {0x23e9, 0x23f3, 1},
	{0x2600, 0x27bf, 1}, {0x2b1b, 0x2b55, 1}, {0x2e80, 0xa4cf, 1}, {0xa960, 0xa97f, 1}, {0xac00, 0xd7a3, 1}, {0xf900, 0xfaff, 1},
	{0xfe10, 0xfe6f, 1}, {0xff00, 0xff60, 1}, {0xffe0, 0xffe6, 1}},
	R32: []unicode.Range32{{0x16fe0, 0x18cff, 1}, {0x1aff0, 0x1b2ff, 1}, {0x1f000, 0x1faff, 1}, {0x20000, 0x3fffd, 1}}}

// columns is how many columns a character takes, at most.
func columns(r rune) int {
	if unicode.Is(wide, r) {
		return 2
	}
	return 1
}

// breadth is how many columns a clean text takes, at most.
func breadth(s string) int {
	n := 0
	for _, r := range s {
		n += columns(r)
	}
	return n
}

// cut shortens a clean text to a width; 0 is no bound.
func cut(s string, width int) string {
	if width <= 0 || breadth(s) <= width {
		return s
	}
	n := 1 // the ellipsis
	for i, r := range s {
		if n += columns(r); n > width {
			return s[:i] + "…"
		}
	}
	return s
}

// wrap breaks a clean text into lines that, after an indent, are of a width; 0 is
// no bound.
func wrap(s string, width, indent int) []string {
	if width <= 0 {
		return []string{s}
	}
	width -= indent
	var lines []string
	start, n := 0, 0
	for i, r := range s {
		if n += columns(r); n > width && i > start {
			lines = append(lines, s[start:i])
			start, n = i, columns(r)
		}
	}
	return append(lines, s[start:])
}

// span is a duration in its two largest units.
func span(d time.Duration) string {
	s := int(d / time.Second)
	switch {
	case s < 60:
		return fmt.Sprintf("%ds", max(s, 0))
	case s < 3600:
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	case s < 48*3600:
		return fmt.Sprintf("%dh%02dm", s/3600, s/60%60)
	}
	return fmt.Sprintf("%dd%02dh", s/86400, s/3600%24)
}

func ago(t, now time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return span(now.Sub(t)) + " ago"
}

func left(t, now time.Time) string {
	switch {
	case t.IsZero():
		return "-"
	case !t.After(now):
		return "ran out"
	}
	return span(t.Sub(now)) + " left"
}

// describe is a question as `parley questions` shows it. What the agent wrote at
// length stands behind a bar, so that it cannot pass for anything else.
func describe(q signal.View, now time.Time, width int) string {
	asker := clean(q.Source)
	if asker == "" {
		asker = "somebody"
	}
	if !q.Verified {
		asker += " (unverified)"
	}
	state := ago(q.CreatedAt, now)
	switch q.Status {
	case signal.Answered:
		state += ", answered " + ago(q.AnsweredAt, now)
	case signal.Expired:
		state += ", expired " + ago(q.ExpiresAt, now)
	default:
		state += ", " + left(q.ExpiresAt, now)
	}
	if q.Priority != "" && q.Priority != task.Normal {
		state += fmt.Sprintf(", %s priority", clean(string(q.Priority)))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n  %s asks, %s:\n", clean(q.ID), asker, state)
	quote(&b, q.Question, width)
	for i, o := range q.Options {
		mark := fmt.Sprintf("  %d. ", i+1)
		for _, line := range wrap(clean(o), width, len(mark)) {
			b.WriteString(mark + line + "\n")
			mark = "     "
		}
	}
	if q.Context != "" {
		b.WriteString("  Context:\n")
		quote(&b, q.Context, width)
	}
	if q.Status == signal.Answered {
		b.WriteString("  Answer:\n")
		quote(&b, q.Response, width)
	}
	return b.String()
}

func quote(b *strings.Builder, text string, width int) {
	const bar = "  | "
	for line := range strings.SplitSeq(strings.TrimRight(text, "\r\n"), "\n") {
		for _, part := range wrap(clean(strings.TrimRight(line, "\r")), width, len(bar)) {
			b.WriteString(strings.TrimRight(bar+part, " ") + "\n")
		}
	}
}

// section is one kind of thing in the view of top.
type section struct {
	title string
	rows  []string
	more  bool
}

// atMost is how many of a kind the server shows.
const atMost = 50

func sections(v overview.View, now time.Time) []section {
	var sessions, claims, questions, unread [][]string
	for _, s := range v.Sessions {
		sessions = append(sessions, []string{s.Name, dash(s.Program), s.State, fmt.Sprintf("%d%%", s.Progress), ago(s.LastHeartbeat, now), s.Status})
	}
	for _, c := range v.Claims {
		claims = append(claims, []string{dash(c.ClaimedBy), left(c.LeaseUntil, now), string(c.Status), string(c.Type), c.Title})
	}
	ids := shortIDs(v.Questions)
	for i, q := range v.Questions {
		questions = append(questions, []string{ids[i], dash(q.Source), string(q.Priority), ago(q.CreatedAt, now), left(q.ExpiresAt, now), q.Question})
	}
	for _, u := range v.Unread {
		count := fmt.Sprint(u.Count)
		if u.More {
			count += "+"
		}
		unread = append(unread, []string{u.Program, count})
	}
	return []section{{"Sessions", table(sessions), len(sessions) >= atMost}, {"Claimed tasks", table(claims), len(claims) >= atMost},
		{"Waiting questions", table(questions), len(questions) >= atMost}, {"Unread mail", table(unread), len(unread) >= atMost}}
}

// shortIDs is as much of each id as tells it from the others, and from a question
// that was asked in another millisecond.
func shortIDs(questions []overview.Question) []string {
	const stamp = 13 // the time in a UUIDv7
	ids := make([]string, len(questions))
	for n := stamp; ; n++ {
		seen, longer := map[string]bool{}, false
		for i, q := range questions {
			id := clean(q.ID)
			ids[i] = id[:min(n, len(id))]
			for !utf8.ValidString(ids[i]) {
				ids[i] = ids[i][:len(ids[i])-1]
			}
			longer = longer || n < len(id)
			seen[ids[i]] = true
		}
		if len(seen) == len(ids) || !longer {
			return ids
		}
	}
}

// table aligns cells. All but the last of a row are bounded.
func table(cells [][]string) []string {
	const bound = 36
	var widths []int
	for _, row := range cells {
		for i := range row {
			row[i] = strings.TrimSpace(clean(row[i]))
			if i == len(row)-1 {
				break
			}
			row[i] = cut(row[i], bound)
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], breadth(row[i]))
		}
	}
	rows := make([]string, len(cells))
	for j, row := range cells {
		for i, c := range row {
			rows[j] += "  " + c
			if i < len(row)-1 {
				rows[j] += strings.Repeat(" ", widths[i]-breadth(c))
			}
		}
		rows[j] = strings.TrimRight(rows[j], " ")
	}
	return rows
}

// allot parts the room among the sections, a row at a time, so that none is
// crowded out by another.
func allot(all []section, room int) []int {
	shown := make([]int, len(all))
	for given := true; given && room > 0; {
		given = false
		for i, s := range all {
			if shown[i] < len(s.rows) && room > 0 {
				shown[i]++
				room--
				given = true
			}
		}
	}
	return shown
}

// draw is the view as text of at most so many columns and lines; 0 is no bound.
func draw(v overview.View, now time.Time, width, height int) string {
	all := sections(v, now)
	total, gaps := 1+len(all), len(all)
	for _, s := range all {
		total += len(s.rows)
	}
	if height <= 0 {
		height = total + gaps
	}
	if total+gaps > height {
		gaps = 0
	}
	lines := []string{"Parley at " + now.Format("15:04:05")}
	shown := allot(all, height-1-len(all)-gaps)
	for i, s := range all {
		if gaps > 0 {
			lines = append(lines, "")
		}
		title := s.title + ": none"
		if n := len(s.rows); n > 0 {
			count := fmt.Sprint(n)
			if s.more {
				count += " or more"
			}
			if shown[i] < n {
				count += fmt.Sprintf(", the first %d", shown[i])
			}
			title = fmt.Sprintf("%s: %s", s.title, count)
		}
		lines = append(append(lines, title), s.rows[:shown[i]]...)
	}
	lines = lines[:min(len(lines), height)]
	for i := range lines {
		lines[i] = cut(lines[i], width)
	}
	return strings.Join(lines, "\n")
}
