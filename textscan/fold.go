package textscan

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// fold brings a text into the form that rules are written for, appending to the
// buffers given: one line, compatibility forms replaced (NFKC's mappings: full
// width, mathematical and circled letters), marks and invisible characters
// dropped, and what looks like another letter replaced by that (see replaced).
func fold(text string, lower, cased []byte) view {
	if !isASCII(text) {
		var small [512]byte
		// The decomposed form, so that marks stand by themselves.
		text = string(norm.NFKD.AppendString(small[:0], strings.ToValidUTF8(text, "\uFFFD")))
	}
	v := view{lower: lower, cased: cased}
	space := true // none at the beginning
	for _, r := range text {
		if r >= utf8.RuneSelf {
			if isDropped(r) {
				continue
			}
			r = unfamiliar(r)
		}
		if unicode.IsSpace(r) || unicode.IsControl(r) {
			if !space {
				v.append(' ')
			}
			space = true
			continue
		}
		v.append(r)
		space = false
	}
	if space && len(v.cased) > 0 {
		v.lower, v.cased = v.lower[:len(v.lower)-1], v.cased[:len(v.cased)-1]
	}
	return v
}

func (v *view) append(r rune) {
	v.cased = utf8.AppendRune(v.cased, r)
	v.lower = utf8.AppendRune(v.lower, unicode.ToLower(r))
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// isDropped says whether a rule never sees r: marks, what is invisible, and the
// stroke that only makes an Arabic word longer.
func isDropped(r rune) bool {
	return unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) || isFiller(r) || r == '\u0640'
}

// unfamiliar is what a rule sees for r. White letters on a dark ground have no
// compatibility form and come in two runs of 26.
func unfamiliar(r rune) rune {
	switch {
	case r >= 0x1F150 && r < 0x1F150+26:
		return 'A' + r - 0x1F150
	case r >= 0x1F170 && r < 0x1F170+26:
		return 'A' + r - 0x1F170
	case r >= 0x1F1E6 && r < 0x1F1E6+26:
		return 'A' + r - 0x1F1E6
	}
	if to, ok := replaced[r]; ok {
		return to
	}
	return r
}

// replaced maps letters to the ones they are taken for: Cyrillic, Greek, Armenian
// and small-capital letters that look like Latin ones, forms of Arabic letters
// that writers use for each other, traditional Chinese letters of the rules to
// simplified ones, and brackets and stops of other scripts.
var replaced = pairs(
	`АA ВB ЕE ЅS ІI ЈJ КK МM НH ОO РP СC ТT УY ХX ԌG ԚQ ԜW аa вb еe ѕs іi јj кk мm нh оo рp сc тt уy хx һh ԁd ԛq ԝw ьb ӏl ҫc ғf ոn`,
	`ΑA ΒB ΕE ΖZ ΗH ΙI ΚK ΜM ΝN ΟO ΡP ΤT ΥY ΧX αa βb γy εe ηn ιi κk νv οo ρp τt υu χx ωw σo`,
	`օo սu հh ցg զq ոn ѡw`,
	`ıi ȷj ɑa ɡg ɩi ʟl ɪi ɢg ɴn ʀr ʙb ʜh ᴀa ᴄc ᴅd ᴇe ꜰf ᴊj ᴋk ᴍm ᴏo ᴘp ꜱs ᴛt ᴜu ᴠv ᴡw ʏy ᴢz łl øo đd ħh ƒf ƙk ƚl ꞁl ǀl`,
	`ىي یي ېي کك ةه ەه ہه ھه ٱا`,
	`無无 視视 統统 詞词 執执 訴诉 說说 説说 請请 從从 現现 開开 個个 別别 讓让 給给 發发 傳传 這这 條条 對对 話话 記记 憶忆 錄录 規规 則则 資资 戶户 調调 數数 隱隐 瞞瞒 應应 該该 機机 約约 蓋盖 棄弃 遺遗 設设 關关 絕绝 後后 號号 碼码 鑰钥 權权 訊讯 複复 製制 輸输 導导 貼贴 轉转 為为 爲为 與与 聽听 檔档 動动 腳脚 級级 樣样 體体 會会 當当 裡里 裏里 聯联 將将 務务 員员 業业 論论 運运 觸触 發发 顯显 緘缄 繞绕 違违 準准 東东 單单 歷历 筆笔 銷销 毀毁 鏈链 網网 郵邮 屬属 誰谁 實实 審审 縛缚 殺杀 獄狱 裝装 遵遵 內内 報报 匯汇 講讲 讯讯 許许 許许 務务 務务 變变 據据 證证 憑凭 獲获 覺觉 曉晓 擁拥 斷断 產产 終终 舊旧 臺台 滅灭 優优 連连 線线 預预 義义 護护 護护 啟启 啓启 階阶 當当 齊齐 廢废 頭头 總总 間间 邊边 門门 問问 題题 紙纸 範范 圍围 暫暂 續续 繼继 項项 須须 無无 過过 還还 進进 遠远 選选 邏逻 編编 輯辑 刪删 讀读 寫写 語语 試试 認认 識识 譯译 計计 訂订 討讨 訓训 誤误 誠诚 詢询 許许 該该 誰谁 談谈 諾诺 謊谎 謝谢 議议 背背 著着`,
	`【[ 】] 〔[ 〕] 〖[ 〗] ⟦[ ⟧] ⟨< ⟩> ❲[ ❳] 〈< 〉> ，, ،, ؛; ؟? 、, ！! ｡。 ’' ‘' ‛' “" ”" ‹< ›> «" »" ‐- ‑- ‒- –- —- ―- −- ˗- ∶: ː: ꞉: ｜| ∣| │| ⁄/ ∕/ ＃#`,
)

// pairs reads pairs of letters, each the letter and what stands for it.
func pairs(lists ...string) map[rune]rune {
	m := make(map[rune]rune)
	for _, list := range lists {
		for pair := range strings.FieldsSeq(list) {
			if r := []rune(pair); len(r) == 2 {
				m[r[0]] = r[1]
			}
		}
	}
	return m
}
