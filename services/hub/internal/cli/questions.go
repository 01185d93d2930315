package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"parley.internal/services/hub/internal/printable"
	"parley.internal/shared/client"
	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/signal"
)

const (
	// perPage is the number of questions in a page.
	perPage = 100
	// minPrefix is the minimum length of an abbreviated id.
	minPrefix = 4
	// maxInput bounds the bytes of an answer from standard input. It exceeds the limit of the server, which
	// therefore refuses a long answer.
	maxInput = 64 << 10
)

func (w *world) questionsCommand() *cobra.Command {
	var status string
	var asJSON bool
	cmd := &cobra.Command{Use: "questions", Short: "List the questions that agents ask you",
		Long: "List the questions that agents ask you: the id, the asking program, the age and the remaining time, " +
			"the\n" +
			"question, its options and its context. Answer one with `parley answer`.",
		Args: cobra.NoArgs}
	connect := w.humanFlags(cmd)
	cmd.Flags().StringVar(&status, "status", "pending", "pending, answered, expired or all")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print each question as a line of JSON")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		h, err := connect()
		if err != nil {
			return err
		}
		return w.printQuestions(cmd.Context(), h, signal.Status(status), asJSON)
	}
	return cmd
}

func (w *world) printQuestions(ctx context.Context, h *human, status signal.Status, asJSON bool) error {
	width, _, _ := terminalSize(w.out)
	n := 0
	err := h.questions(ctx, status, func(q signal.View, raw json.RawMessage) error {
		var text string
		if asJSON {
			line, err := printable.JSON(raw)
			if err != nil {
				return err
			}
			text = line + "\n"
		} else {
			if n > 0 {
				text = "\n"
			}
			text += describe(q, h.now(), width)
		}
		n++
		_, err := io.WriteString(w.out, text)
		return err
	})
	if err == nil && n == 0 && !asJSON {
		_, err = fmt.Fprintln(w.out, none[status])
	}
	return err
}

// none holds the messages for empty lists. The server refuses other statuses.
var none = map[signal.Status]string{
	signal.Pending:  "No questions are waiting.",
	signal.Answered: "No questions were answered.",
	signal.Expired:  "No questions expired.",
	"all":           "There are no questions.",
}

// questions calls each with every question of all pages, decoded and as the server sent it.
func (h *human) questions(ctx context.Context, status signal.Status,
	each func(q signal.View, raw json.RawMessage) error) error {
	in := signal.ListInput{Status: status, Limit: perPage}
	for {
		var page struct {
			Questions  []json.RawMessage `json:"questions"`
			NextCursor string            `json:"nextCursor"`
		}
		if err := h.Do(ctx, "list_questions", in, &page); err != nil {
			return h.explain(ctx, err)
		}
		for _, raw := range page.Questions {
			var q signal.View
			if err := json.Unmarshal(raw, &q); err != nil {
				return fmt.Errorf("a question of %s cannot be decoded; check that the server has the same version (%w)",
					h.Base(), err)
			}
			if err := each(q, raw); err != nil {
				return err
			}
		}
		if page.NextCursor == "" {
			return nil
		}
		in.Cursor = page.NextCursor
	}
}

func (w *world) answerCommand() *cobra.Command {
	var option int
	cmd := &cobra.Command{Use: "answer ID [TEXT...]", Short: "Answer a question of an agent, once",
		Long: "Answer a question of an agent, once. ID is the id of the question, or a prefix of at least 4 " +
			"characters\n" +
			"that no other waiting question has. The words of TEXT are joined by spaces; - alone reads the answer\n" +
			"from standard input. After -- the text may begin with a dash.",
		Example: "  parley answer 0198c0de yes, go on\n  parley answer 0198c0de --option 2\n" +
			"  git diff | parley answer 0198c0de -",
		Args: cobra.MinimumNArgs(1)}
	connect := w.humanFlags(cmd)
	cmd.Flags().IntVar(&option, "option", 0, "answer with the question's option `N`")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		byOption := cmd.Flags().Changed("option")
		if byOption == (len(args) > 1) {
			return errors.New("give either the answer after the id or --option N")
		}
		h, err := connect()
		if err != nil {
			return err
		}
		text := ""
		if !byOption {
			if text, err = w.answerText(args[1:]); err != nil {
				return err
			}
		}
		q, err := h.find(cmd.Context(), args[0], byOption)
		if err != nil {
			return err
		}
		if byOption {
			if text, err = choose(q, option); err != nil {
				return err
			}
		}
		done, err := h.answer(cmd.Context(), q, text)
		if err != nil {
			return err
		}
		text = "answered " + q.ID
		if done.AnsweredWith != "" {
			text += ", with the assurance " + string(done.AnsweredWith)
		}
		_, err = fmt.Fprintln(w.out, printable.Line(text))
		return err
	}
	return cmd
}

func (w *world) answerText(words []string) (string, error) {
	text := strings.Join(words, " ")
	if text == "-" {
		read, err := io.ReadAll(io.LimitReader(w.in, maxInput))
		if err != nil {
			return "", fmt.Errorf("cannot read the answer: %w", err)
		}
		text = strings.TrimRight(string(read), "\r\n")
	}
	if strings.TrimSpace(text) == "" {
		return "", errors.New("the answer is empty")
	}
	if !utf8.ValidString(text) {
		return "", errors.New("the answer is not UTF-8 text")
	}
	return text, nil
}

// find returns the waiting question with an id or a unique prefix of one, and where none waits, one in any status: the
// server then names the status in its refusal. If there is none at all, find returns only the id, and an error if whole is
// true.
func (h *human) find(ctx context.Context, id string, whole bool) (signal.View, error) {
	if len(id) < minPrefix {
		return signal.View{}, fmt.Errorf(
			"give at least %d characters of the question's id; `parley questions` lists them", minPrefix)
	}
	which := "waiting questions"
	exact, begin, err := h.lookUp(ctx, signal.Pending, id)
	if err == nil && exact == nil && len(begin) == 0 {
		which = "questions, of which none waits,"
		exact, begin, err = h.lookUp(ctx, "all", id)
	}
	switch {
	case err != nil:
		return signal.View{}, err
	case exact != nil:
		return *exact, nil
	case len(begin) == 1:
		return begin[0], nil
	case len(begin) > 1:
		text := fmt.Sprintf("%d %s have ids that begin with %q; give more characters:", len(begin), which, id)
		for _, q := range begin {
			text += fmt.Sprintf("\n  %s  %s", printable.Line(q.ID), cut(printable.Line(q.Question), 60))
		}
		return signal.View{}, errors.New(text)
	case whole:
		return signal.View{}, fmt.Errorf("no question with the id %q; `parley questions` lists the waiting ones", id)
	}
	return signal.View{ID: id}, nil
}

// lookUp returns the question with an id, nil for none, and all questions whose ids begin with it.
func (h *human) lookUp(ctx context.Context, status signal.Status, id string) (
	exact *signal.View, begin []signal.View, err error) {
	err = h.questions(ctx, status, func(q signal.View, _ json.RawMessage) error {
		if q.ID == id {
			exact = &q
		}
		if strings.HasPrefix(q.ID, id) {
			begin = append(begin, q)
		}
		return nil
	})
	return exact, begin, err
}

// choose returns the n-th option of a question, counted from 1.
func choose(q signal.View, n int) (string, error) {
	if n >= 1 && n <= len(q.Options) {
		return q.Options[n-1], nil
	}
	if len(q.Options) == 0 {
		return "", errors.New("the question has no options; answer with a text")
	}
	text := fmt.Sprintf("there is no option %d; the options are:", n)
	for i, o := range q.Options {
		text += fmt.Sprintf("\n  %d. %s", i+1, printable.Line(o))
	}
	return "", errors.New(text)
}

func (h *human) answer(ctx context.Context, q signal.View, text string) (signal.View, error) {
	out, err := h.AnswerQuestion(ctx, signal.AnswerInput{QuestionID: q.ID, Response: text})
	var e *client.Error
	if errors.As(err, &e) && e.Code == fault.Forbidden.Code() && q.Assurance == identity.Device {
		return out, fmt.Errorf("this question is answered from a paired device only: open %s/q/%s there; the browser that "+
			"first opens a link of `parley link` is paired, and a paired one pairs others", h.Base(), printable.Line(q.ID))
	}
	if errors.As(err, &e) && e.Code == fault.Forbidden.Code() && q.Assurance == identity.Passkey {
		return out, fmt.Errorf("this question is answered with a passkey only, in the console: open %s/q/%s in a browser, and sign in "+
			"with your passkey", h.Base(), printable.Line(q.ID))
	}
	err = h.explain(ctx, err)
	if err != nil && q.Status == signal.Answered {
		return out, fmt.Errorf("%w, with %q", err, cut(printable.Line(q.Response), 200))
	}
	if errors.As(err, &e) && e.Code == fault.NotFound.Code() {
		return out, fmt.Errorf("%w; `parley questions` lists the waiting ones", err)
	}
	return out, err
}
