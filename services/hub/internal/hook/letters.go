package hook

// Letter is a message of others that no receipt confirms, because its reader reads it by another way too.
type Letter struct {
	// From is the sender as the server has it, and Proof how far the server vouches for it.
	From, Proof, ID, Text string
	// Again says that its reader may have read it before.
	Again bool
}

// leastText is the number of bytes of a text for which its message is worth showing.
const leastText = 160

// Letters returns the first messages between the marks, in at most max bytes, and their number. The texts are cut to
// fit; a message without room for its beginning is left out, with all after it.
func Letters(all []Letter, max int) (text string, shown int) {
	const bar = len("| ") + len("\n") + len(" [cut]")
	room, forTexts := max-len(fenceTop)-len(fenceEnd)-2, max-len(fenceTop)-len(fenceEnd)-2
	var items []item
	for _, l := range all {
		i := item{head: letterHead(l), text: l.Text}
		if room -= len(i.head) + 1 + min(leastText, len(i.text)) + bar; room < 0 {
			break
		}
		forTexts -= len(i.head) + 1
		items = append(items, i)
	}
	b := builder{left: max}
	b.fenced(items, forTexts, "")
	return b.text(), len(items)
}

func letterHead(l Letter) string {
	head := "from " + short(clean(l.From), 120) + " (" + short(clean(l.Proof), 120) + "), id " + short(clean(l.ID), 60)
	if l.Again {
		head += ", again"
	}
	return head + ":"
}
