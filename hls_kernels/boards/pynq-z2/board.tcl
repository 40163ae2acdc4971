set part xc7z020clg400-1
set board_part tul.com.tw:pynq-z2:part0:1.0
set processor zynq7
set frequency 100
