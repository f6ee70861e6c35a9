package textscan

// hasCard says whether text holds the number of a payment card: digits, parted
// by single spaces or hyphens or by nothing, that begin as an issuer's do, are as
// many as that issuer's, and pass Luhn's checksum, as one in ten others does.
func hasCard(text []byte) bool {
	var digits []byte
	parted := false
	for i := 0; i <= len(text); i++ {
		switch {
		case i < len(text) && text[i] >= '0' && text[i] <= '9':
			if digits == nil {
				digits = make([]byte, 0, maxCard+1)
			}
			if len(digits) <= maxCard {
				digits = append(digits, text[i]-'0')
			}
			parted = false
		case i < len(text) && (text[i] == ' ' || text[i] == '-') && !parted:
			parted = true
		default:
			if isIssued(digits) && luhn(digits) {
				return true
			}
			digits, parted = digits[:0], false
		}
	}
	return false
}

// maxCard is the digits of the longest card number that is looked for.
const maxCard = 16

func isIssued(digits []byte) bool {
	prefix := func(n int) int {
		p := 0
		for _, d := range digits[:n] {
			p = 10*p + int(d)
		}
		return p
	}
	in := func(p, low, high int) bool { return p >= low && p <= high }
	switch len(digits) {
	case 14:
		return in(prefix(3), 300, 305) || prefix(2) == 36 || in(prefix(2), 38, 39)
	case 15:
		return prefix(2) == 34 || prefix(2) == 37
	case 16:
		return prefix(1) == 4 || in(prefix(2), 51, 55) || in(prefix(4), 2221, 2720) || prefix(4) == 6011 ||
			prefix(2) == 65 || in(prefix(3), 644, 649) || in(prefix(4), 3528, 3589) || prefix(2) == 62
	}
	return false
}

func luhn(digits []byte) bool {
	sum := 0
	for i, d := range digits {
		n := int(d)
		if (len(digits)-i)%2 == 0 {
			if n *= 2; n > 9 {
				n -= 9
			}
		}
		sum += n
	}
	return sum%10 == 0
}
