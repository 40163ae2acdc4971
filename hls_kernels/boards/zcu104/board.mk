PART   := xczu7ev-ffvc1156-2-e
PERIOD := 5
