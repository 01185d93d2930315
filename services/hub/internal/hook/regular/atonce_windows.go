package regular

const atOnce = 0
