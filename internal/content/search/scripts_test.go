package search_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"harness/internal/content/search"
	"harness/internal/platform/database"
	"harness/tests/dbtest"
)

// scripts returns texts, and queries with the indexes of the matching texts.
func scripts() (texts []string, wanted map[string][]int) {
	texts = []string{
		0:  "明天下午三点开项目评审会议",
		1:  "数据库连接超时，请重启服务器",
		2:  "重要：删除旧数据之前先备份",
		3:  "據說資料庫已經修復了",
		4:  "データベースのバックアップを取る",
		5:  "サーバーを再起動してください",
		6:  "데이터베이스가 느려서 서버를 재시작했습니다",
		7:  "서버에서 데이터를 읽는 중입니다",
		8:  "กรุณาสำรองข้อมูลก่อนลบไฟล์",
		9:  "ไฟล์ข้อมูลเสียหายทั้งหมด",
		10: "ກະລຸນາສຳຮອງຂໍ້ມູນກ່ອນ",
		11: "សូមបម្រុងទុកទិន្នន័យ",
		12: "ဒေတာကို အရန်သိမ်းပါ",
		13: "Die Straße zur Datenbank ist gesperrt",
		14: "IŞIK veritabanı bağlantısı koptu",
		15: "Сервер перезапущен, база данных ещё недоступна",
		16: "Ο διακομιστής της βάσης δεδομένων έπεσε",
		17: "أعد تشغيل الخادم بعد نسخ قاعدة البيانات",
		18: "הפעל מחדש את השרת אחרי גיבוי",
		19: "सर्वर को पुनः आरंभ करें और डेटा देखें",
		20: "कल की बैठक का समय बदल गया",
		21: "ডেটাবেস সংযোগ বিচ্ছিন্ন",
		22: "தரவுத்தளம் காப்புப்பிரதி",
		23: "სერვერი გადაიტვირთა",
		24: "Սերվերը վերագործարկվեց",
		25: "ሰርቨሩ እንደገና ተነሳ",
		26: "Cơ sở dữ liệu bị đứt kết nối",
		27: "Café crème, naïve façade: smørrebrød og œuvre",
		28: "می\u200cخواهم سرور را دوباره راه\u200cاندازی کنم",
		29: "the merge conflict was in the lock file",
		30: "conflict of interest: merge later; file the lock",
		31: "done ✅ and shipped 🚀",
		32: "がき大将とかき氷",
	}
	return texts, map[string][]int{
		"会议": {0}, "数据": {1, 2}, "重要": {2}, "数据库": {1}, "据库": {1}, "评审会议": {0}, "库": {1, 3}, "资料": {}, "資料庫": {3},
		"重启 服务器": {1}, "データ": {4}, "データベース": {4}, "サーバー": {5}, "再起動": {5}, "バックアップ": {4}, "ベース": {4},
		"데이터베이스 재시작": {6}, "서버 재시작": {6}, "데이터": {6, 7}, "데이터베이스": {6}, "서버": {6, 7}, "재시작했습니다": {6}, "버에": {7},
		"ข้อมูล": {8, 9}, "ไฟล์": {8, 9}, "สำรองข้อมูล": {8}, "ຂໍ້ມູນ": {10}, "ទិន្នន័យ": {11}, "ဒေတာ": {12},
		"strasse": {13}, "STRASSE": {13}, "Straße": {13}, "datenbank": {13}, "ışık": {14}, "IŞIK": {14}, "isik": {14}, "veritabani": {14},
		"сервер": {15}, "еще": {15}, "ЁЩЁ": {}, "баз": {15}, "διακομιστης": {16}, "ΒΑΣΗΣ": {16}, "βασησ": {16},
		"الخادم": {17}, "اعد": {17}, "قاعده": {17}, "השרת": {18}, "डेटा": {19}, "की": {20}, "का": {20}, "को": {19}, "के": {}, "ডেটাবেস": {21},
		"காப்புப்பிரதி": {22}, "სერვერი": {23}, "սերվերը": {24}, "ՍԵՐՎԵՐԸ": {24}, "ሰርቨሩ": {25}, "co so du lieu": {26}, "đứt": {26}, "dut": {26},
		"cafe naive facade": {27}, "smorrebrod": {27}, "oeuvre": {27}, "œuvre": {27}, "میخواهم": {28}, "می\u200cخواهم": {28},
		"merge conflict": {29, 30}, `"merge conflict"`: {29}, `"lock file"`: {29}, `"conflict merge"`: {}, `"file the lock" merge`: {30},
		"✅": {31}, "🚀": {31}, "❌": {}, "shipped 🚀": {31}, "がき": {32}, "かき": {32}, "がき大": {32}, "かき大": {}, "かき氷": {32},
	}
}

// In every script a search finds all matches and nothing else, with the same result on both engines.
func TestSearchOverScripts(t *testing.T) {
	t.Parallel()
	texts, wanted := scripts()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		k := newKit(t, db)
		k.session("s", "p", "")
		for n, text := range texts {
			k.say("s", fmt.Sprintf("%02d", n), text)
		}
		x := k.index()
		found, expected, right := 0, 0, 0
		for query, numbers := range wanted {
			_, hits := k.find(x, search.Query{Text: query})
			var want []string
			for _, n := range numbers {
				want = append(want, fmt.Sprintf("s/%02d", n))
			}
			got := strings.Fields(hits)
			for _, hit := range got {
				if slices.Contains(want, hit) {
					right++
				}
			}
			found, expected = found+len(got), expected+len(want)
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Logf("%q finds %v, want %v", query, got, want)
			}
		}
		t.Logf("precision %.3f, recall %.3f", float64(right)/float64(found), float64(right)/float64(expected))
		if 100*right < 95*found || 100*right < 95*expected {
			t.Errorf("%d hits, %d of them right, of %d", found, right, expected)
		}
	})
}

// Among entries of random signs, a search finds the words of a language without spaces exactly where they are, page by
// page.
func TestSearchAmongRandomSigns(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same texts each time
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		k := newKit(t, db)
		k.session("s", "p", "")
		var texts []string
		for n := range 120 {
			signs := make([]rune, 2000)
			for i := range signs {
				signs[i] = '一' + random.Int32N(3000)
			}
			texts = append(texts, string(signs))
			k.say("s", fmt.Sprintf("%03d", n), texts[n])
		}
		texts = append(texts, "明天下午三点开项目评审会议")
		k.say("s", "120", texts[120])
		x := k.index()
		queries := []string{"会议", "数据", "重要", "三点开项目", string([]rune(texts[7])[100:104])}
		for _, query := range queries {
			var want []string
			for n, text := range slices.Backward(texts) {
				if strings.Contains(text, query) {
					want = append(want, fmt.Sprintf("s/%03d", n))
				}
			}
			var got []string
			for cursor := ""; ; {
				page, hits := k.find(x, search.Query{Text: query, Limit: 1, Cursor: cursor})
				got = append(got, strings.Fields(hits)...)
				if cursor = page.Next; cursor == "" {
					break
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%q finds %v, want %v", query, got, want)
			}
		}
	})
}
