package embedded
import ("testing";"fmt";"time";"os";"github.com/hippofire/hippofire/hippo";"strings")
func TestTmp(t *testing.T){
 dir:=t.TempDir()
 s,_:=Open(dir,hippo.DefaultLayout(),nil)
 t0:=time.Now()
 for n:=range 100000 { if err:=s.SaveMemory(t.Context(),"t",hippo.Memory{ID:hippo.MemoryID(fmt.Sprint(n)),Name:"n",Content:strings.Repeat("x",2000),UpdatedAt:1});err!=nil{t.Fatal(err)} }
 t1:=time.Now(); s.Close(); t2:=time.Now()
 s,err:=Open(dir,hippo.DefaultLayout(),nil); if err!=nil {t.Fatal(err)}
 t3:=time.Now(); 
 s2,err:=OpenReadOnly(dir,hippo.DefaultLayout()); _ = s2
 fi,_:=os.Stat(dir+"/journal.jsonl")
 fmt.Println("write",t1.Sub(t0),"close",t2.Sub(t1),"open",t3.Sub(t2),"readonly",time.Since(t3),fi.Size(), err)
 s.Close()
}
