package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"parley.internal/services/hub/internal/printable"
	"parley.internal/shared/search"
)

func (w *world) searchCommand() *cobra.Command {
	var in search.Input
	var limit int
	cmd := &cobra.Command{Use: "search WORDS...", Short: "Search what agents and people wrote", Args: cobra.MinimumNArgs(1),
		Long: "Search tasks, questions, messages, councils, fires and verifications, newest first. All words must occur; words\n" +
			"in double quotes are a phrase, and a star ends the beginning of a word. Matches stand between ⟦ and ⟧, or are\n" +
			"bold on a terminal with colours.",
		Example: "  parley search parser 'gramm*'\n  parley search '\"lease ran out\"' --kind task --from 2026-11-01\n" +
			"  parley search deploy --program beta --json"}
	connect, asJSON := w.humanFlags(cmd), jsonFlag(cmd)
	f := cmd.Flags()
	f.StringVar(&in.Kind, "kind", "", "only one kind: task, question, message, council, fire or verification")
	f.StringVar(&in.Program, "program", "", "only what this program wrote or received")
	f.StringVar(&in.From, "from", "", "first day, such as 2026-11-01, or a time")
	f.StringVar(&in.To, "to", "", "last day, or a time")
	f.IntVar(&limit, "limit", 20, "list at most `N` results")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		h, err := connectLimited(connect, limit)
		if err != nil {
			return err
		}
		in.Q = strings.Join(args, " ")
		out := search.Output{Results: []search.Result{}}
		for {
			in.Limit = min(limit-len(out.Results), 50)
			page, err := h.Search(cmd.Context(), in)
			if err != nil {
				return h.explain(cmd.Context(), err)
			}
			out.Results, out.NextCursor = append(out.Results, page.Results...), page.NextCursor
			if in.Cursor = page.NextCursor; in.Cursor == "" || len(out.Results) >= limit {
				break
			}
		}
		if *asJSON {
			return w.document(out)
		}
		return w.printResults(out, h)
	}
	return cmd
}

func (w *world) printResults(out search.Output, h *human) error {
	if len(out.Results) == 0 {
		_, err := fmt.Fprintln(w.out, "Nothing was found. All words must occur; end one with * for a beginning.")
		return err
	}
	width, _, _ := terminalSize(w.out)
	var b strings.Builder
	for i, r := range out.Results {
		if i > 0 {
			b.WriteString("\n")
		}
		head := fmt.Sprintf("%s %s, %s", r.Kind, r.ID, ago(r.At, h.now()))
		if len(r.Programs) > 0 {
			head += ", " + strings.Join(r.Programs, " and ")
		}
		b.WriteString(w.paint(bold, cut(printable.Line(head), width)) + "\n")
		if r.Title != "" {
			b.WriteString("  " + cut(printable.Line(r.Title), max(width-2, 0)) + "\n")
		}
		if r.Snippet != "" {
			var text strings.Builder
			quote(&text, r.Snippet, width)
			b.WriteString(w.marked(text.String()))
		}
	}
	if _, err := io.WriteString(w.out, b.String()); err != nil {
		return err
	}
	return w.hint(out.NextCursor != "")
}

// marked makes the matches of a snippet bold where the output may have colours.
func (w *world) marked(text string) string {
	if !w.coloured() {
		return text
	}
	// Each line ends its own highlight, even if the text has such brackets itself.
	return strings.NewReplacer("⟦", "\x1b[1m", "⟧", "\x1b[0m", "\n", "\x1b[0m\n").Replace(text)
}
