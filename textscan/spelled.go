package textscan

// How many letters in a row, each parted from the next, spell a word out. Plain
// abbreviations such as u.s.a. have fewer, and a few single words of a letter
// each can follow one another.
const (
	spelledByMark  = 5
	spelledBySpace = 7
)

// isSpelled says whether a folded text holds a word whose letters are parted by
// one mark each, as in o.b.e.y, or by single spaces.
func isSpelled(text []byte) bool {
	letters, mark := 0, byte(0)
	for i, c := range text {
		if !isSmall(c) || i > 0 && isSmall(text[i-1]) || i+1 < len(text) && isSmall(text[i+1]) {
			if isSmall(c) {
				letters = 0
			}
			continue
		}
		parted := i >= 2 && isSmall(text[i-2]) && text[i-1] < 0x80
		if !parted || letters > 1 && text[i-1] != mark {
			letters = 0
		}
		if letters++; letters > 1 {
			mark = text[i-1]
		}
		if letters >= spelledBySpace || letters >= spelledByMark && mark != ' ' {
			return true
		}
	}
	return false
}

func isSmall(c byte) bool { return c >= 'a' && c <= 'z' }
