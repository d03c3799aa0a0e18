package main

// most is how many points a curve keeps: more than a screen has columns.
const most = 2048

// curve is a loss curve of bounded size. When it is full, every two neighbours
// become their mean, and from then on each point stands for twice as many steps.
type curve struct {
	points []float32 // means over stride steps
	stride int       // 0: nothing was added
	sum    float64   // of the steps of a point that is not full
	n      int       // how many these are

	evaluations []evaluation
}

// evaluation is the accuracy after a number of steps.
type evaluation struct {
	steps int
	share float64
}

func (c *curve) add(loss float32) {
	c.stride = max(c.stride, 1)
	c.sum += float64(loss)
	if c.n++; c.n < c.stride {
		return
	}
	c.points = append(c.points, float32(c.sum/float64(c.n)))
	c.sum, c.n = 0, 0
	if len(c.points) < most {
		return
	}
	for i := range most / 2 {
		c.points[i] = (c.points[2*i] + c.points[2*i+1]) / 2
	}
	c.points = c.points[:most/2]
	c.stride *= 2
}

// evaluated adds an accuracy. Of very many, every other is dropped.
func (c *curve) evaluated(steps int, share float64) {
	c.evaluations = append(c.evaluations, evaluation{steps, share})
	if len(c.evaluations) < most {
		return
	}
	for i := range most / 2 {
		c.evaluations[i] = c.evaluations[2*i+1]
	}
	c.evaluations = c.evaluations[:most/2]
}
