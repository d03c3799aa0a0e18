package profile

// profileComment is the field of the format's remarks.
const profileComment = 13

// Comment adds a remark for people, which go tool pprof -comments prints.
func (p *Profile) Comment(text string) {
	p.body = varint(p.body, profileComment, uint64(p.str(text)))
}
