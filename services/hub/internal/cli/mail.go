package cli

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"parley.internal/shared/identity"
	"parley.internal/shared/keys"
	"parley.internal/shared/relay"
	"parley.internal/shared/task"
)

// maxMailboxes is the number of programs whose mail is listed without --program.
const maxMailboxes = 50

func (w *world) sendCommand() *cobra.Command {
	var in relay.SendInput
	var priority string
	cmd := &cobra.Command{Use: "send TARGET TEXT...", Short: "Send a message to an agent, a group or all",
		Args: cobra.MinimumNArgs(2),
		Long: "Send a message. TARGET is a program, a session (claude/2), group:NAME or all. The words of TEXT are joined by\n" +
			"spaces; - alone reads the message from standard input. After -- the text may begin with a dash.\n\n" +
			"A DIRECTIVE or a QUERY comes again until the agent acknowledges it; other messages come once.",
		Example: "  parley send beta 'Stop at the parser, please.'\n  parley send all --type STATUS 'The build is green again.'\n" +
			"  git log -3 | parley send group:reviewers -"}
	connect, asJSON := w.humanFlags(cmd), jsonFlag(cmd)
	f := cmd.Flags()
	f.StringVar(&in.MessageType, "type", "DIRECTIVE", "PING, PONG, HANDSHAKE, DIRECTIVE, STATUS, ACK, QUERY or RESULT")
	f.StringVar(&priority, "priority", string(task.Normal), "low, normal or high")
	f.StringVar(&in.ThreadID, "thread", "", "the thread that it belongs to")
	f.StringVar(&in.ReplyTo, "reply-to", "", "the id of the message that it answers")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var err error
		if in.Priority, err = priorityOf(priority); err != nil {
			return err
		}
		in.Target, in.Message, in.Source = args[0], strings.Join(args[1:], " "), task.User
		in.MessageType = strings.ToUpper(in.MessageType)
		if in.Message == "-" {
			if in.Message, err = w.input("message"); err != nil {
				return err
			}
		}
		h, err := connect()
		if err != nil {
			return err
		}
		out, err := h.SendMessage(cmd.Context(), in)
		if err != nil {
			return h.explain(cmd.Context(), err)
		}
		return w.done(out, *asJSON, out.Warning, "sent %s to %s", cmp.Or(out.MulticastID, out.MessageID), out.Target)
	}
	return cmd
}

func (w *world) mailCommand() *cobra.Command {
	var program string
	var dead bool
	var limit int
	cmd := &cobra.Command{Use: "mail", Short: "List the mail between agents, or the dead letters", Args: cobra.NoArgs,
		Long: "List the messages between agents and to you, newest first: the age, the state, who wrote to whom, the type and\n" +
			"the text. Reading them here does not mark them. With --dead, list the messages that nobody read in time, or\n" +
			"that nobody acknowledged.",
		Example: "  parley mail\n  parley mail --program beta --limit 5\n  parley mail --dead --json"}
	connect, asJSON := w.humanFlags(cmd), jsonFlag(cmd)
	cmd.Flags().StringVar(&program, "program", "", "only the inbox of this program; user is your own")
	cmd.Flags().BoolVar(&dead, "dead", false, "list dead letters")
	cmd.Flags().IntVar(&limit, "limit", 20, "list at most `N` messages")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		h, err := connectLimited(connect, limit)
		if err != nil {
			return err
		}
		if dead {
			return w.deadLetters(cmd.Context(), h, program, limit, *asJSON)
		}
		all, more, err := h.mail(cmd.Context(), program, limit)
		switch {
		case err != nil:
			return err
		case *asJSON:
			return w.document(relay.GetOutput{Messages: all})
		}
		return w.printMail(all, more, h.now())
	}
	return cmd
}

// mail returns the newest messages of the inboxes, newest first, and whether there are more.
func (h *human) mail(ctx context.Context, program string, limit int) (all []relay.View, more bool, err error) {
	boxes := []string{program}
	if program == "" {
		if boxes, err = h.programs(ctx); err != nil {
			return nil, false, err
		}
		boxes = append(boxes[:min(len(boxes), maxMailboxes)], task.User)
		v, err := h.overview(ctx, "", 0)
		if err != nil {
			return nil, false, err
		}
		for _, s := range v.Strays { // nobody else would see it
			boxes = append(boxes, s.Program)
		}
	}
	seen := map[string]bool{}
	for _, b := range boxes {
		in := relay.GetInput{Target: b, IncludeDelivered: true, Limit: 100}
		for {
			page, err := h.GetMessages(ctx, in)
			if err != nil {
				return nil, false, h.explain(ctx, err)
			}
			for _, m := range page.Messages {
				if !seen[m.ID] {
					seen[m.ID], all = true, append(all, m)
				}
			}
			if in.Cursor = page.NextCursor; in.Cursor == "" {
				break
			}
		}
	}
	slices.SortStableFunc(all, func(a, b relay.View) int { return b.CreatedAt.Compare(a.CreatedAt) })
	return append([]relay.View{}, all[:min(len(all), limit)]...), len(all) > limit, nil
}

// programs returns the names of the programs that have a valid key.
func (h *human) programs(ctx context.Context) ([]string, error) {
	var names []string
	err := h.validKeys(ctx, func(k keys.View) {
		if k.Program != "" {
			names = append(names, k.Program)
		}
	})
	slices.Sort(names)
	return slices.Compact(names), err
}

// validKeys calls each with every key that is neither revoked nor expired.
func (h *human) validKeys(ctx context.Context, each func(keys.View)) error {
	in := keys.ListInput{Limit: 100}
	for {
		page, err := h.ListKeys(ctx, in)
		if err != nil {
			return h.explain(ctx, err)
		}
		for _, k := range page.Keys {
			if k.RevokedAt.IsZero() && (k.ExpiresAt.IsZero() || k.ExpiresAt.After(h.now())) {
				each(k)
			}
		}
		if in.Cursor = page.NextCursor; in.Cursor == "" {
			return nil
		}
	}
}

func (w *world) printMail(all []relay.View, more bool, now time.Time) error {
	s := newSheet("AGE", "STATE", "FROM", "TO", "TYPE", "MESSAGE")
	for _, m := range all {
		t, state := plain, string(m.Status)
		switch {
		case m.Status == relay.Dead:
			t = bad
		case m.NeedsAck && m.Status != relay.Acked:
			t, state = alarm, "not acknowledged"
		}
		if m.Status == relay.Pending {
			state = "unread"
		}
		s.add(t, age(m.CreatedAt, now), state, speaker(m), cmp.Or(m.AddressedTo, m.Target), strings.ToLower(m.MessageType), m.Message)
	}
	if err := w.print(s, "There is no mail. `parley send` sends a message; agents do with send_message."); err != nil {
		return err
	}
	return w.hint(more)
}

// speaker returns the author of a message.
func speaker(m relay.View) string {
	name := cmp.Or(m.SourceSession, m.Source)
	if !m.Verified && !identity.Same(m.Source, task.User) {
		name += " (unverified)"
	}
	return name
}

func (w *world) deadLetters(ctx context.Context, h *human, program string, limit int, asJSON bool) error {
	out, more := relay.DeadOutput{Messages: []relay.DeadLetter{}}, false
	for in := (relay.DeadInput{Limit: 100}); !more; {
		page, err := h.GetDeadLetters(ctx, in)
		if err != nil {
			return h.explain(ctx, err)
		}
		for _, m := range page.Messages {
			if program != "" && !identity.Same(m.Target, program) && !identity.Same(m.Source, program) {
				continue
			}
			if more = len(out.Messages) == limit; more {
				break
			}
			out.Messages = append(out.Messages, m)
		}
		if in.Cursor = page.NextCursor; in.Cursor == "" {
			break
		}
	}
	if asJSON {
		return w.document(out)
	}
	s := newSheet("DIED", "REASON", "FROM", "TO", "TYPE", "MESSAGE")
	for _, m := range out.Messages {
		s.add(bad, age(m.DiedAt, h.now()), m.Reason, speaker(m.View), cmp.Or(m.AddressedTo, m.Target),
			strings.ToLower(m.MessageType), m.Message)
	}
	if err := w.print(s, "There are no dead letters. One shows within 15 minutes of its death, for 7 days."); err != nil {
		return err
	}
	return w.hint(more)
}
