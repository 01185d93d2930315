package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rivo/uniseg"

	"parley.internal/services/hub/internal/printable"
	"parley.internal/shared/identity"
	"parley.internal/shared/overview"
	"parley.internal/shared/signal"
	"parley.internal/shared/task"
)

// cut shortens a clean text to a width in columns, with an ellipsis in place of the rest. Width 0 is no limit.
func cut(s string, width int) string {
	if width <= 0 || uniseg.StringWidth(s) <= width {
		return s
	}
	n := 1 // the ellipsis
	for g := uniseg.NewGraphemes(s); g.Next(); {
		if n += g.Width(); n > width {
			start, _ := g.Positions()
			return s[:start] + "…"
		}
	}
	return s
}

// wrap breaks a clean text into lines that fit a width in columns after an indent. Width 0 is no limit. A line holds at
// least one character, even if that is wider than the line.
func wrap(s string, width, indent int) []string {
	if width <= 0 {
		return []string{s}
	}
	width -= indent
	var lines []string
	start, n := 0, 0
	for g := uniseg.NewGraphemes(s); g.Next(); {
		at, _ := g.Positions()
		if n += g.Width(); n > width && at > start {
			lines = append(lines, s[start:at])
			start, n = at, g.Width()
		}
	}
	return append(lines, s[start:])
}

// span returns a duration in its two largest units.
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
		return "expired"
	}
	return span(t.Sub(now)) + " left"
}

// describe returns a question in the form of `parley questions`. Long texts of the agent stand behind a bar, so that
// they cannot imitate the output of the command.
func describe(q signal.View, now time.Time, width int) string {
	asker := printable.Line(q.Source)
	if asker == "" {
		asker = "unknown"
	}
	if !q.Verified {
		asker += " (unverified)"
	}
	state := ago(q.CreatedAt, now)
	switch q.Status {
	case signal.Answered:
		state += ", answered " + ago(q.AnsweredAt, now)
		if q.AnsweredBy != "" {
			state += " by " + printable.Line(q.AnsweredBy)
		}
		if q.AnsweredWith != "" {
			state += fmt.Sprintf(" (%s)", printable.Line(string(q.AnsweredWith)))
		}
	case signal.Expired:
		if q.Withdrawn != "" {
			state += ", withdrawn: " + cut(printable.Line(q.Withdrawn), 200)
		} else {
			state += ", expired " + ago(q.ExpiresAt, now)
		}
	default:
		state += ", " + left(q.ExpiresAt, now)
	}
	if q.Priority != "" && q.Priority != task.Normal {
		state += fmt.Sprintf(", %s priority", printable.Line(string(q.Priority)))
	}
	if q.Assurance == identity.Device && q.Status == signal.Pending {
		state += ", answered from a paired device only"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n  %s asks, %s:\n", printable.Line(q.ID), asker, state)
	quote(&b, q.Question, width)
	for i, o := range q.Options {
		mark := fmt.Sprintf("  %d. ", i+1)
		for _, line := range wrap(printable.Line(o), width, len(mark)) {
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

// quote writes a text with a bar before each line.
func quote(b *strings.Builder, text string, width int) {
	const bar = "  | "
	for line := range strings.SplitSeq(strings.TrimRight(text, "\r\n"), "\n") {
		for _, part := range wrap(printable.Line(strings.TrimRight(line, "\r")), width, len(bar)) {
			b.WriteString(strings.TrimRight(bar+part, " ") + "\n")
		}
	}
}

// section is one part of the view of top. more says that the server has further rows.
type section struct {
	title string
	rows  []string
	more  bool
	// optional says that it is left out where it has no rows.
	optional bool
}

func (s section) ifAny() section {
	s.optional = true
	return s
}

// atMost is the maximum number of entries of a section that the server sends.
const atMost = 50

// sections returns the parts of the view. Optional parts are there only where they have rows.
func sections(v overview.View, now time.Time) []section {
	all := []section{
		of("Sessions", v.Sessions, func(s overview.Session) []string {
			return []string{s.Name, dash(s.Program), s.State, fmt.Sprintf("%d%%", s.Progress), ago(s.LastHeartbeat, now), s.Status}
		}),
		of("Claimed tasks", v.Claims, func(c overview.Claim) []string {
			return []string{dash(c.ClaimedBy), left(c.LeaseUntil, now), string(c.Status), string(c.Type), c.Title}
		}),
		queues(v, now).ifAny(),
		waiting(v, now),
		alerts(v, now).ifAny(),
		of("Unread mail", v.Unread, unreadRow),
		of("Mail to unknown names", v.Strays, unreadRow).ifAny(),
		of("Called, and made no session", v.Callers, func(c overview.Caller) []string {
			return []string{c.Program, ago(c.LastUsedAt, now)}
		}).ifAny(),
	}
	return slices.DeleteFunc(all, func(s section) bool { return s.optional && len(s.rows) == 0 })
}

// of returns a section with a row for each item.
func of[T any](title string, items []T, row func(T) []string) section {
	var cells [][]string
	for _, item := range items {
		cells = append(cells, row(item))
	}
	return section{title: title, rows: table(cells), more: len(cells) >= atMost}
}

func unreadRow(u overview.Unread) []string {
	count := fmt.Sprint(u.Count)
	if u.More {
		count += "+"
	}
	return []string{u.Program, count}
}

func queues(v overview.View, now time.Time) section {
	s := of("Queues", v.Queues, func(q overview.Queue) []string {
		oldest := "-"
		if q.Waiting > 0 {
			oldest = "oldest " + age(q.Oldest, now)
		}
		return []string{q.Target, fmt.Sprintf("%d waiting", q.Waiting), oldest, fmt.Sprintf("%d active", q.Active)}
	})
	if v.Uncounted {
		s.title = "Queues (of the first 100 waiting tasks)"
	}
	return s
}

func waiting(v overview.View, now time.Time) section {
	ids := shortIDs(v.Questions, func(q overview.Question) string { return q.ID })
	i := -1
	return of("Waiting questions", v.Questions, func(q overview.Question) []string {
		i++
		priority := string(q.Priority)
		if q.Assurance == identity.Device {
			priority += ", from a device"
		}
		return []string{ids[i], dash(q.Source), priority, ago(q.CreatedAt, now), left(q.ExpiresAt, now), q.Question}
	})
}

func alerts(v overview.View, now time.Time) section {
	ids := shortIDs(v.Alerts, func(a overview.Alert) string { return a.ID })
	i := -1
	return of("Alerts", v.Alerts, func(a overview.Alert) []string {
		i++
		return []string{ids[i], dash(a.Source), dash(a.AlertType), ago(a.CreatedAt, now), a.Title}
	})
}

// allot divides a number of rows among the sections, one row at a time, so that no section takes the rows of another.
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

// draw returns the view as text of at most width columns and height lines. 0 is no limit.
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
