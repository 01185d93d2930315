package costs

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"parley.internal/shared/app"
)

// table is a Markdown table. All columns but the first are numbers.
type table struct {
	b strings.Builder
}

func (t *table) head(cells ...string) {
	t.row(cells...)
	t.b.WriteString("|---|" + strings.Repeat("---:|", len(cells)-1) + "\n")
}

func (t *table) row(cells ...string) {
	t.b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}

// whole formats a number without its fraction and with commas. A number between 0 and 1 is "under 1".
func whole(n float64) string {
	if n > 0 && n < 1 {
		return "under 1"
	}
	s := strconv.FormatInt(int64(math.Round(n)), 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// each formats the average of n over so many calls, with one decimal.
func each(n, of int) string {
	return strconv.FormatFloat(math.Round(10*float64(n)/float64(of))/10, 'f', -1, 64)
}

func dollars(n float64) string { return fmt.Sprintf("%.2f", n) }

// tables returns all tables of the runbook.
func (n *counted) tables(sweeps []app.Sweep) string {
	var days []day
	for _, l := range loads {
		days = append(days, n.day(l, sweeps))
	}
	parts := []string{n.perCall(), n.besideCalls(sweeps), perDay(days), perMonth(days)}
	return "\n" + strings.Join(parts, "\n")
}

func (n *counted) perCall() string {
	var t table
	t.b.WriteString("**A call**\n\n")
	t.head("call", "of 100", "reads", "writes", "deletes", "functions")
	for i, s := range mix {
		b := n.calls[i]
		t.row(s.name, strconv.Itoa(s.of), each(b.reads, s.of), each(b.writes, s.of), each(b.deletes, s.of),
			each(b.triggers, s.of))
	}
	t.row("**100 calls**", "100", whole(float64(n.mix.reads)), whole(float64(n.mix.writes)),
		whole(float64(n.mix.deletes)), whole(float64(n.mix.triggers)))
	for i, s := range expensive {
		b := n.expensive[i]
		t.row(s.name, "not in it", each(b.reads, 1), each(b.writes, 1), each(b.deletes, 1), each(b.triggers, 1))
	}
	return t.b.String()
}

func (n *counted) besideCalls(sweeps []app.Sweep) string {
	var t table
	t.b.WriteString("**Beside the calls**\n\n")
	t.head("what", "reads", "writes", "deletes", "functions")
	add := func(what string, b bill) {
		t.row(what, each(b.reads, 1), each(b.writes, 1), each(b.deletes, 1), each(b.triggers, 1))
	}
	add("a key is looked up", n.lookup)
	add("a key's use is noted", n.touched)
	add("the programs of a user with one key", n.directory)
	add("a flush of the ledger, calls of one program", n.flush)
	add("each further program in it", n.flushTwo.minus(n.flush, 1))
	add("its end after 30 days", n.batch)
	add("a document that somebody's listener hears of", bill{ops{reads: 1}, 0})
	for _, s := range sweeps {
		add("a run of "+s.Function+" with nothing to do", n.idle[s.Name])
	}
	add("sweeping up after 100 calls", n.after)
	add("of 100 calls, what TTL deletes", bill{ops{deletes: n.expired}, 0})
	return t.b.String()
}

func perDay(days []day) string {
	var t table
	t.b.WriteString("**A day**\n\n")
	head := []string{"calls a day"}
	who := []string{"users × agents"}
	for _, d := range days {
		head = append(head, whole(float64(d.calls)))
		who = append(who, fmt.Sprintf("%d × %d", d.users, d.agents))
	}
	t.head(head...)
	t.row(who...)
	group := func(name string, of func(*day) lines) {
		sums := []string{"**" + name + "**"}
		for i := range days {
			sums = append(sums, "**"+whole(of(&days[i]).sum())+"**")
		}
		t.row(sums...)
		for k, l := range of(&days[0]) {
			cells := []string{"– " + l.what}
			for i := range days {
				cells = append(cells, whole(of(&days[i])[k].n))
			}
			t.row(cells...)
		}
	}
	group("reads", func(d *day) lines { return d.reads })
	group("writes", func(d *day) lines { return d.writes })
	group("deletes", func(d *day) lines { return d.deletes })
	single := func(name string, of func(*day) string) {
		cells := []string{name}
		for i := range days {
			cells = append(cells, of(&days[i]))
		}
		t.row(cells...)
	}
	single("**deletes by TTL**", func(d *day) string { return "**" + whole(d.expired) + "**" })
	group("calls of functions", func(d *day) lines { return d.functions })
	single("seconds in which the server answers", func(d *day) string { return whole(d.busy) })
	single("calls at once, while agents work", func(d *day) string {
		return strconv.FormatFloat(math.Ceil(d.flying), 'f', -1, 64)
	})
	return t.b.String()
}

func perMonth(days []day) string {
	var t table
	t.b.WriteString("**A month of 30 such days, in dollars**: as listed, and after the free quota\n\n")
	head := []string{"calls a day"}
	for _, d := range days {
		head = append(head, whole(float64(d.calls)), "after free")
	}
	t.head(head...)
	deployments := map[bool]string{
		false: "**the default deployment**",
		true:  "**the smallest** (`smallest.tftest.hcl`)",
	}
	for _, smallest := range []bool{false, true} {
		months := make([][]item, len(days))
		for i := range days {
			months[i] = days[i].month(smallest)
			months[i] = slices.Insert(months[i], 0, total(months[i]))
			months[i][0].what = deployments[smallest]
		}
		for k := range months[0] {
			cells := []string{months[0][k].what}
			for i := range days {
				listed, paid := dollars(months[i][k].listed), dollars(months[i][k].paid)
				if k == 0 {
					listed, paid = "**"+listed+"**", "**"+paid+"**"
				} else if i == 0 {
					cells[0] = "– " + cells[0]
				}
				cells = append(cells, listed, paid)
			}
			t.row(cells...)
		}
	}
	return t.b.String()
}
