package runner

import (
	"fmt"
	"slices"

	"parley.internal/services/hub/internal/hook"
	"parley.internal/shared/team"
)

const (
	// maxMail is the number of bytes about a member's mail in its first prompt: as many as a hook tells at a start.
	maxMail = hook.MaxStart
	// aboutMail are those of the lines around the mail.
	aboutMail = 300
)

// mail is the part of a member's first prompt with its unread mail, empty if there is none: what fits, oldest first, as
// data behind bars, and the number of the others. The mail stays unread, so a start that fails loses none. A member whose
// inbox cannot be read starts without it.
func (r *Runner) mail(c *child, key, prompt string) string {
	var unread []team.Message
	var more bool
	err := r.ask(c, func() (err error) {
		unread, more, err = r.Server.Unread(r.reports, c.rec.Name, key)
		return err
	})
	if err != nil {
		r.Log.Warn("a member starts without its mail", "member", c.rec.Name, "error", err)
		return ""
	}
	// The server puts the prompt into the inbox too.
	if i := slices.IndexFunc(unread, func(m team.Message) bool { return m.Text == prompt }); i >= 0 {
		unread = slices.Delete(unread, i, i+1)
	}
	if len(unread) == 0 {
		return ""
	}
	letters := make([]hook.Letter, len(unread))
	for i, m := range unread {
		letters[i] = letter(m)
	}
	text, shown := hook.Letters(letters, maxMail-aboutMail)
	head := fmt.Sprintf("\n\nUnread in your inbox: %s. It stays unread until you read it with team_read_inbox, so do that "+
		"before you answer it.\n", count(len(unread), more))
	if shown == len(unread) && !more {
		return head + text
	}
	rest := fmt.Sprintf("\nParley: %s more wait: read your inbox with team_read_inbox.", atLeast(len(unread)-shown, more))
	return head + text + rest
}

// letter is a message of the team. The server lets only the team's own members, its lead and people write.
func letter(m team.Message) hook.Letter {
	l := hook.Letter{From: m.From, Proof: "of your team, verified", ID: m.ID, Text: m.Text, Again: m.Again}
	if m.By != "" {
		l.Proof = "a person, verified"
	}
	if l.Text == "" {
		l.Text = m.Summary
	}
	return l
}

func count(n int, more bool) string {
	if n == 1 && !more {
		return "1 message"
	}
	return atLeast(n, more) + " messages"
}

func atLeast(n int, more bool) string {
	if more {
		return fmt.Sprintf("%d or more", n)
	}
	return fmt.Sprint(n)
}
